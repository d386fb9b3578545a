#pragma once
// What NAME_peaks.cpp defines for each instruction set; see kernels/peaks.h.

#include <cstddef>
#include <cstdint>

#define OXBOW_ISA_PEAKS(name)                              \
  namespace name {                                         \
  uint64_t dot_products(size_t steps, int32_t* out);       \
  uint64_t read_bytes(const std::byte* data, size_t size); \
  }

namespace oxbow::kernels {

OXBOW_ISA_PEAKS(portable)
OXBOW_ISA_PEAKS(avx2)
OXBOW_ISA_PEAKS(avx512)

}  // namespace oxbow::kernels

#undef OXBOW_ISA_PEAKS
