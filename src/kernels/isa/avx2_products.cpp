#define OXBOW_ISA avx2
#define OXBOW_ISA_AVX2 1
#if __has_include("kernels/body/matmul.h")
#include "kernels/body/products.h"
#endif
