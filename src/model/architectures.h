#pragma once
// The registry of architectures: one file each in architectures/, hyperparameters in, layers out. The build
// lists the files; "granitehybrid.cpp" defines build_granitehybrid and tiny_models_granitehybrid and serves
// files whose general.architecture is that name ("-" in a name is "_" in the file's).

#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "model/hyperparameters.h"
#include "model/network.h"
#include "model/tiny_model.h"
#include "model/weight_loader.h"

namespace oxbow::model {

struct Architecture {
  std::string_view name;
  Result<Network> (*build)(Hyperparameters& hyperparameters, WeightLoader& weights);
  std::vector<TinyModel> (*tiny_models)();  // at least one, for the tests
};

std::span<const Architecture> architectures();
const Architecture* find_architecture(std::string_view name);
std::vector<std::string_view> architecture_names();

}  // namespace oxbow::model
