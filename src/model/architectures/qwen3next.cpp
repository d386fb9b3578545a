// Qwen3-Next: the layers of Qwen3.5 with other head groups and projections.

#include "model/architectures.h"
#include "model/architectures/qwen35.h"

namespace oxbow::model {

Result<Network> build_qwen3next(Hyperparameters& hp, WeightLoader& weights) {
  return build_qwen_hybrid(hp, weights, QwenHybrid::kNext);
}

}  // namespace oxbow::model
