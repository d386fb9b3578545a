#include "model/rope.h"

#include "kernels/scalar_math.h"

namespace oxbow::model {

Rope::Rope(const RopeConfig& config) : config_(config) {
  for (size_t j = 0; j < config.dimensions / 2; ++j) {
    const double exponent = -2.0 * static_cast<double>(j) / static_cast<double>(config.dimensions);
    frequencies_.push_back(config.position_scale * kernels::pow_double(config.frequency_base, exponent));
  }
}

void Rope::fill(std::span<const memory::BatchSpan> spans, float* cos, float* sin) const {
  for (const memory::BatchSpan& span : spans) {
    for (size_t t = 0; t < span.tokens; ++t) {
      const size_t row = (span.first_row + t) * pairs();
      for (size_t j = 0; j < pairs(); ++j) {
        double sine = 0.0;
        double cosine = 0.0;
        kernels::sin_cos_double(static_cast<double>(span.position + t) * frequencies_[j], sine, cosine);
        cos[row + j] = static_cast<float>(cosine);
        sin[row + j] = static_cast<float>(sine);
      }
    }
  }
}

}  // namespace oxbow::model
