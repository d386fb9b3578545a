#define OXBOW_ISA avx2
#define OXBOW_ISA_AVX2 1
#define OXBOW_ISA_NAME "avx2"
#include "kernels/body/table.h"
