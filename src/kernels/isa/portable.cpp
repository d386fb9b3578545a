#define OXBOW_ISA portable
#define OXBOW_ISA_PORTABLE 1
#define OXBOW_ISA_NAME "portable"
#include "kernels/body/table.h"
