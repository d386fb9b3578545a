#define OXBOW_ISA avx512
#define OXBOW_ISA_AVX512 1
#include "kernels/body/peaks.h"
