#pragma once
// Least-squares searches behind the encoders: which scale (and minimum) makes a group of values closest to
// what codes of few bits can express. Sums are double, so every finite float may occur.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

namespace oxbow::quant {

// Integers from low to high.
struct IntegerLevels {
  int low;
  int high;

  int nearest(double v) const {
    if (v <= low) return low;
    if (v >= high) return high;
    return static_cast<int>(v < 0 ? v - 0.5 : v + 0.5);
  }
};

// The entries of a table, ascending.
struct TableLevels {
  std::span<const int> values;
  int low = values.front();
  int high = values.back();

  int nearest(double v) const {
    size_t index = 0;
    for (size_t i = 1; i < values.size(); ++i) index += 2 * v > values[i - 1] + values[i] ? 1 : 0;
    return values[index];
  }
};

inline float largest_magnitude(std::span<const float> x) {
  float largest = 0;
  for (float v : x) {
    if (std::fabs(v) > std::fabs(largest)) largest = v;
  }
  return largest;
}

// Levels for one scale, and the squared error that they leave. A scale of zero decodes to zeros.
template <class Levels>
double assign_levels(std::span<const float> x, const Levels& levels, double scale, int* out) {
  double error = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    out[i] = scale == 0 ? levels.nearest(0) : levels.nearest(x[i] / scale);
    const double rest = x[i] - scale * out[i];
    error += rest * rest;
  }
  return error;
}

// The scale (of either sign) that minimises sum (x - scale level)^2, sought by putting the largest value at
// and around the outermost levels, and solving for the scale that suits the resulting levels best.
template <class Levels>
double fit_scale(std::span<const float> x, const Levels& levels) {
  constexpr int kSteps = 9;
  constexpr double kStep = 0.02;
  const double largest = largest_magnitude(x);
  if (largest == 0) return 0;
  double best_scale = 0;
  double best_gain = -1;  // how much the fit takes off sum x^2
  for (int edge : {levels.low, levels.high}) {
    for (int step = -kSteps; step <= kSteps; ++step) {
      double scale = largest / (edge * (1 + kStep * step));
      for (int round = 0; round < 2; ++round) {
        const double inverse = 1 / scale;
        double products = 0;
        double squares = 0;
        for (float v : x) {
          const double level = levels.nearest(v * inverse);
          products += v * level;
          squares += level * level;
        }
        if (squares == 0 || products == 0) break;
        scale = products / squares;
        if (products * scale > best_gain) {
          best_gain = products * scale;
          best_scale = scale;
        }
      }
    }
  }
  return best_scale;
}

struct ScaleAndMin {
  double scale = 0;
  double min = 0;  // subtracted; both are >= 0
};

// Codes of [0, high] for x = scale code - min, and the squared error that they leave.
inline double assign_codes(std::span<const float> x, int high, ScaleAndMin fit, int* out) {
  const IntegerLevels levels = {0, high};
  double error = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    out[i] = fit.scale == 0 ? 0 : levels.nearest((x[i] + fit.min) / fit.scale);
    const double rest = x[i] - (fit.scale * out[i] - fit.min);
    error += rest * rest;
  }
  return error;
}

// sum w (x - (scale a - min b))^2 is smallest at the solution of two linear equations; a negative part of it
// is replaced by zero. What is summed: a a, a b, b b, a x, b x.
struct PairSums {
  double aa = 0, ab = 0, bb = 0, ax = 0, bx = 0;

  void add(double a, double b, double x) {
    aa += a * a;
    ab += a * b;
    bb += b * b;
    ax += a * x;
    bx += b * x;
  }
  ScaleAndMin solve() const {
    const double determinant = aa * bb - ab * ab;
    if (determinant > 1e-12 * aa * bb) {
      const ScaleAndMin both = {(ax * bb - bx * ab) / determinant, (ax * ab - bx * aa) / determinant};
      if (both.scale >= 0 && both.min >= 0) return both;
    }
    const ScaleAndMin scale_only = {aa > 0 ? std::max(0.0, ax / aa) : 0.0, 0.0};
    const ScaleAndMin min_only = {0.0, bb > 0 ? std::max(0.0, -bx / bb) : 0.0};
    return scale_only.scale * ax >= -min_only.min * bx ? scale_only : min_only;
  }
};

// The scale and minimum for codes of [0, high], sought over a range of widths.
inline ScaleAndMin fit_scale_and_min(std::span<const float> x, int high) {
  constexpr int kSteps = 20;
  const auto [smallest, largest] = std::minmax_element(x.begin(), x.end());
  const double low = std::min(0.0, static_cast<double>(*smallest));
  const double width = *largest - low;
  if (width <= 0) return {0, -low};
  int codes[256];
  ScaleAndMin best;
  double best_error = std::numeric_limits<double>::infinity();
  for (int step = 0; step <= kSteps; ++step) {
    ScaleAndMin fit = {width / (high - 1 + 0.1 * step), -low};
    for (int round = 0; round < 2; ++round) {
      assign_codes(x, high, fit, codes);
      PairSums sums;
      for (size_t i = 0; i < x.size(); ++i) sums.add(codes[i], 1, x[i]);
      fit = sums.solve();
      const double error = assign_codes(x, high, fit, codes);
      if (error < best_error) {
        best_error = error;
        best = fit;
      }
    }
  }
  return best;
}

}  // namespace oxbow::quant
