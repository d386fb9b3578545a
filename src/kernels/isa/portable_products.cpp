#define OXBOW_ISA portable
#define OXBOW_ISA_PORTABLE 1
#if __has_include("kernels/body/matmul.h")
#include "kernels/body/products.h"
#endif
