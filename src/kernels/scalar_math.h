#pragma once
// Elementary functions in double precision for tables computed once (rope angles, frequencies): the project's
// own, so that no result depends on the C library.

namespace oxbow::kernels {

double exp_double(double x);
double log_double(double x);            // x > 0
double pow_double(double x, double y);  // x > 0
// |x| < 2^30
void sin_cos_double(double x, double& sine, double& cosine);
// Scalar float versions with the same bits as the vector kernels' lanes.
float exp_float(float x);

}  // namespace oxbow::kernels
