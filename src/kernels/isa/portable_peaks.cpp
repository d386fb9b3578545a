#define OXBOW_ISA portable
#define OXBOW_ISA_PORTABLE 1
#include "kernels/body/peaks.h"
