#pragma once
// Rotary position embedding (Su et al. 2021): cosines and sines of the positions of one step.

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/kernels.h"
#include "memory/views.h"

namespace oxbow::model {

struct RopeConfig {
  size_t dimensions = 0;  // values of a head that rotate
  double frequency_base = 10000.0;
  double position_scale = 1.0;  // 1 / factor of linear scaling
  kernels::RopeStyle style = kernels::RopeStyle::kNorm;

  bool operator==(const RopeConfig&) const = default;
};

// [rows, dimensions / 2] each.
struct RopeTable {
  const float* cos = nullptr;
  const float* sin = nullptr;
};

// The angle of pair j at position p is p * scale * base^(-2j / dimensions), computed in double precision.
class Rope {
 public:
  explicit Rope(const RopeConfig& config);
  const RopeConfig& config() const { return config_; }
  size_t pairs() const { return frequencies_.size(); }
  void fill(std::span<const memory::BatchSpan> spans, float* cos, float* sin) const;

 private:
  RopeConfig config_;
  std::vector<double> frequencies_;
};

}  // namespace oxbow::model
