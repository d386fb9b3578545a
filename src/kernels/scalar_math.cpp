#include "kernels/scalar_math.h"

#include <bit>
#include <cstdint>
#include <limits>

#include "kernels/body/math_constants.h"
#include "kernels/simd/exact_fma.h"

namespace oxbow::kernels {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// An unevaluated sum with |low| at most half an ulp of high.
struct Pair {
  double high;
  double low;
};

// Knuth's exact sum.
Pair two_sum(double a, double b) {
  const double sum = a + b;
  const double back = sum - a;
  return {sum, (a - (sum - back)) + (b - back)};
}

// The same when |a| >= |b| or a is 0.
Pair fast_two_sum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}

// Dekker's exact product, by splitting each factor into halves of 26 bits; no fused multiply-add needed.
Pair two_product(double a, double b) {
  constexpr double kSplit = 134217729.0;  // 2^27 + 1
  const double a_scaled = kSplit * a;
  const double a_high = a_scaled - (a_scaled - a);
  const double a_low = a - a_high;
  const double b_scaled = kSplit * b;
  const double b_high = b_scaled - (b_scaled - b);
  const double b_low = b - b_high;
  const double product = a * b;
  return {product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low};
}

Pair add(Pair a, Pair b) {
  const Pair high = two_sum(a.high, b.high);
  return fast_two_sum(high.high, high.low + (a.low + b.low));
}

// Nearest integer, ties to even, for |x| < 2^51.
double nearest(double x) {
  constexpr double kMagic = 6755399441055744.0;  // 1.5 * 2^52
  return (x + kMagic) - kMagic;
}

// 2^n for n in [-1022, 1023].
double power_of_two(int64_t n) {
  return std::bit_cast<double>(static_cast<uint64_t>(n + 1023) << 52);
}

constexpr double kInverseLn2 = 0x1.71547652b82fep+0;
constexpr double kLn2High = 0x1.62e42feep-1;  // 32 bits: its products with exponents are exact
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
constexpr double kLn2Lowest = 0x1.cc01f97b57a08p-87;

// 1 / k!
constexpr double inverse_factorial(int k) {
  double factorial = 1;
  for (int i = 2; i <= k; ++i) factorial *= i;
  return 1 / factorial;
}

// exp of x.high + x.low: 2^n exp(r), Taylor's series for |r| <= ln(2) / 2.
double exp_pair(Pair x) {
  if (x.high != x.high) return x.high;
  if (x.high > 709.79) return kInfinity;
  if (x.high < -745.2) return 0;
  const double n = nearest(x.high * kInverseLn2);
  const Pair reduced = two_sum(x.high - n * kLn2High, -n * kLn2Low);
  const double low = reduced.low + x.low - n * kLn2Lowest;
  const double r = reduced.high + low;
  const double r_low = (reduced.high - r) + low;
  double p = inverse_factorial(14);
  for (int k = 13; k >= 3; --k) p = p * r + inverse_factorial(k);
  // 1 + r + (r^2 / 2 + r^3 p): the small terms first.
  const Pair sum = fast_two_sum(1.0, r);
  const double small = r * r * (0.5 + r * p) + (r_low + r * r_low);
  const double value = sum.high + (sum.low + small);
  const int64_t exponent = static_cast<int64_t>(n);
  const int64_t half = exponent / 2;
  return value * power_of_two(half) * power_of_two(exponent - half);
}

// log(x) for finite x > 0 to about 2^-65 of itself: e ln 2 + 2 atanh(s), s = (m - 1) / (m + 1), m in
// [0.7, 1.42).
Pair log_pair(double x) {
  int64_t exponent = 0;
  if (x < std::numeric_limits<double>::min()) {
    x *= 0x1p54;
    exponent = -54;
  }
  uint64_t word = std::bit_cast<uint64_t>(x);
  exponent += static_cast<int64_t>(word >> 52) - 1023;
  word = (word & 0x000fffffffffffffU) | 0x3ff0000000000000U;
  double m = std::bit_cast<double>(word);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    exponent += 1;
  }
  const double f = m - 1.0;  // exact
  const Pair divisor = two_sum(m, 1.0);
  const double s = f / divisor.high;
  const Pair back = two_product(s, divisor.high);
  const double s_low = ((f - back.high) - back.low - s * divisor.low) / divisor.high;
  const double square = s * s;
  double p = 1.0 / 25;
  for (int k = 23; k >= 3; k -= 2) p = p * square + 1.0 / k;
  const Pair series = fast_two_sum(2 * s, 2 * s_low + 2 * s * square * p);
  const double e = static_cast<double>(exponent);
  return add(two_sum(e * kLn2High, e * kLn2Low), series);
}

struct Reduced {
  Pair angle;  // in [-pi/4, pi/4]
  int64_t quadrant;
};

// x - n pi/2 with pi/2 in three parts of 53 bits: enough for every |x| < 2^30, since none of them comes
// closer to a multiple of pi/2 than 2^-60.
Reduced reduce_angle(double x) {
  constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
  constexpr double kHalfPi[3] = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110};
  const double n = nearest(x * kTwoOverPi);
  const Pair first = two_product(n, kHalfPi[0]);
  const Pair second = two_product(n, kHalfPi[1]);
  Pair r = two_sum(x - first.high, -first.low);  // exact as a pair
  r = add(r, {-second.high, -second.low});
  r = add(r, {-n * kHalfPi[2], 0.0});
  return {r, static_cast<int64_t>(n)};
}

// Taylor's series on [-pi/4, pi/4]; the low part enters by the first derivative.
double sine_of(Pair r) {
  const double square = r.high * r.high;
  double p = inverse_factorial(17);
  for (int k = 15; k >= 3; k -= 2) p = inverse_factorial(k) - p * square;
  return r.high + (r.low * (1.0 - 0.5 * square) - r.high * square * p);
}

double cosine_of(Pair r) {
  const double square = r.high * r.high;
  double p = inverse_factorial(18);
  for (int k = 16; k >= 4; k -= 2) p = inverse_factorial(k) - p * square;
  const Pair head = fast_two_sum(1.0, -0.5 * square);
  return head.high + (head.low + (square * square * p - r.low * r.high));
}

}  // namespace

double exp_double(double x) {
  return exp_pair({x, 0.0});
}

double log_double(double x) {
  if (x != x || x < 0) return kNaN;
  if (x == 0) return -kInfinity;
  if (x == kInfinity) return x;
  return log_pair(x).high;
}

double pow_double(double x, double y) {
  if (y == 0 || x == 1) return 1;
  if (!(x > 0) || x == kInfinity || !(y > -kInfinity && y < kInfinity)) return exp_double(y * log_double(x));
  const Pair logarithm = log_pair(x);
  const double rough = y * logarithm.high;
  if (!(rough > -1000 && rough < 1000)) return rough > 0 ? kInfinity : 0;
  const Pair product = two_product(y, logarithm.high);
  return exp_pair({product.high, product.low + y * logarithm.low});
}

void sin_cos_double(double x, double& sine, double& cosine) {
  const Reduced reduced = reduce_angle(x);
  const double s = sine_of(reduced.angle);
  const double c = cosine_of(reduced.angle);
  switch (reduced.quadrant & 3) {
    case 0:
      sine = s, cosine = c;
      break;
    case 1:
      sine = c, cosine = -s;
      break;
    case 2:
      sine = -s, cosine = -c;
      break;
    default:
      sine = -c, cosine = s;
      break;
  }
}

// The steps of exp in body/math.h, one lane of them.
float exp_float(float x) {
  using namespace portable;
  x = kExpHighest < x ? kExpHighest : x;
  x = kExpLowest > x ? kExpLowest : x;
  const float n = exact_fma(x, kLog2E, kRoundingMagic) - kRoundingMagic;
  float r = exact_fma(-n, kLn2Hi, x);
  r = exact_fma(-n, kLn2Lo, r);
  float p = kExp[4];
  for (int i = 3; i >= 0; --i) p = exact_fma(p, r, kExp[i]);
  p = exact_fma(p * r, r, r) + 1.0f;
  if (x != x) return x;
  const int32_t whole = static_cast<int32_t>(n);
  const int32_t half = whole >> 1;
  const auto power = [](int32_t e) { return std::bit_cast<float>(static_cast<uint32_t>(e + 127) << 23); };
  return p * power(half) * power(whole - half);
}

}  // namespace oxbow::kernels
