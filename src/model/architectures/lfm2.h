#pragma once
// LFM2, dense or with experts.

#include "model/hyperparameters.h"
#include "model/network.h"
#include "model/weight_loader.h"

namespace oxbow::model {

Result<Network> build_lfm2(Hyperparameters& hyperparameters, WeightLoader& weights);

}  // namespace oxbow::model
