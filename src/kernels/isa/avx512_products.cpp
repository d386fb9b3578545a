#define OXBOW_ISA avx512
#define OXBOW_ISA_AVX512 1
#if __has_include("kernels/body/matmul.h")
#include "kernels/body/products.h"
#endif
