// Nemotron-H with experts: the same layers under another name.

#include "model/architectures.h"
#include "model/architectures/nemotron_h.h"

namespace oxbow::model {

Result<Network> build_nemotron_h_moe(Hyperparameters& hp, WeightLoader& weights) {
  return build_nemotron_h(hp, weights);
}

}  // namespace oxbow::model
