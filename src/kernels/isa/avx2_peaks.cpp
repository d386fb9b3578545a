#define OXBOW_ISA avx2
#define OXBOW_ISA_AVX2 1
#include "kernels/body/peaks.h"
