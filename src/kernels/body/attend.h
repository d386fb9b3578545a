#pragma once
// Placeholder of the attention kernels.
#include "kernels/body/math.h"
#include "kernels/body/row.h"
OXBOW_ISA_BEGIN
inline void store_key(const float*, size_t, size_t, KvType, std::byte*) {}
inline void store_value(const float*, size_t, size_t, KvType, std::byte*) {}
inline void attend(const AttendArgs&) {}
OXBOW_ISA_END
