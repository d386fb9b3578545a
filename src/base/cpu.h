#pragma once
// What the processor and the machine offer.

#include <cstdint>

namespace oxbow {

struct CpuFeatures {
  bool avx2 = false;         // AVX2, FMA and F16C
  bool avx512_vnni = false;  // AVX-512 F, BW, VL, DQ and VNNI
};

// Read once; what the operating system does not save on a context switch counts as absent.
const CpuFeatures& cpu_features();

// Cores this process may run on (affinity and cgroup quota respected), at least 1.
int usable_cores();

// Bytes that this process may still take without swapping, under the cgroup's limit too; 0 when unknown.
uint64_t available_memory_bytes();

}  // namespace oxbow
