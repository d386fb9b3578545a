#pragma once
// Nemotron-H, dense or with experts.

#include "model/hyperparameters.h"
#include "model/network.h"
#include "model/weight_loader.h"

namespace oxbow::model {

Result<Network> build_nemotron_h(Hyperparameters& hyperparameters, WeightLoader& weights);

}  // namespace oxbow::model
