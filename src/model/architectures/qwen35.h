#pragma once
// Qwen3-Next and Qwen3.5: what their architecture files share.

#include "model/hyperparameters.h"
#include "model/network.h"
#include "model/weight_loader.h"

namespace oxbow::model {

enum class QwenHybrid {
  kNext,  // value heads share key heads in runs, beta and alpha in one tensor
  k35,    // value head j uses key head j mod key heads, beta and alpha apart, rope in sections
};

Result<Network> build_qwen_hybrid(Hyperparameters& hyperparameters, WeightLoader& weights, QwenHybrid kind);

}  // namespace oxbow::model
