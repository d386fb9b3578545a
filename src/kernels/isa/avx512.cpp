#define OXBOW_ISA avx512
#define OXBOW_ISA_AVX512 1
#define OXBOW_ISA_NAME "avx512"
#include "kernels/body/table.h"
