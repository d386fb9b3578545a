#pragma once
// The limits that products and reads of one thread can reach here, for benchmarks to measure against.

#include <cstddef>
#include <cstdint>
#include <span>

namespace oxbow::kernels {

// Runs `steps` rounds of the chosen table's 8-bit dot products on operands in registers and the first cache.
// Returns the operations done: a multiply and an add are two. A step takes some nanoseconds.
uint64_t run_dot_products(size_t steps);

// Reads every byte with the chosen table's loads; the result depends on all of them.
uint64_t read_all(std::span<const std::byte> data);

}  // namespace oxbow::kernels
