// LFM2 with experts: the same layers under another name.

#include "model/architectures.h"
#include "model/architectures/lfm2.h"

namespace oxbow::model {

Result<Network> build_lfm2moe(Hyperparameters& hp, WeightLoader& weights) {
  return build_lfm2(hp, weights);
}

}  // namespace oxbow::model
