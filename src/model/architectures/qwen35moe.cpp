// Qwen3.5 with experts: the same layers under another name.

#include "model/architectures.h"
#include "model/architectures/qwen35.h"

namespace oxbow::model {

Result<Network> build_qwen35moe(Hyperparameters& hp, WeightLoader& weights) {
  return build_qwen_hybrid(hp, weights, QwenHybrid::k35);
}

}  // namespace oxbow::model
