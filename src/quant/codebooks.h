#pragma once
// What the four-bit codes of the codebook formats stand for.

namespace oxbow::quant {

// IQ4_NL and IQ4_XS, ascending.
inline constexpr int kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                       1,    13,   25,  38,  53,  69,  89,  113};

// Twice the E2M1 values of MXFP4. Code 8, minus zero, is a plain zero.
inline constexpr int kMxfp4Values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

}  // namespace oxbow::quant
