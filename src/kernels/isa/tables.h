#pragma once
// The tables that this build has, one per unit of isa/.

#include "kernels/kernels.h"

namespace oxbow::kernels {

namespace portable {
extern const KernelTable kTable;
}
namespace avx2 {
extern const KernelTable kTable;
}
namespace avx512 {
extern const KernelTable kTable;
}

}  // namespace oxbow::kernels
