#include "kernels/peaks.h"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/kernels.h"

namespace oxbow::kernels {
namespace {

TEST(Peaks, EveryInstructionSetCountsItsOperationsAndReadsEveryByte) {
  const std::string_view best = kernels().name;
  for (const KernelTable* table : available_kernels()) {
    SCOPED_TRACE(std::string(table->name));
    ASSERT_TRUE(use_kernels(table->name));
    const uint64_t one = run_dot_products(1);
    EXPECT_GE(one, 128u);
    EXPECT_EQ(run_dot_products(10), 10 * one);
    for (const size_t size : {0, 1, 127, 128, 129, 1000}) {
      std::vector<std::byte> data(size + 1, std::byte{3});
      const std::span<const std::byte> bytes(data.data() + 1, size);
      const uint64_t before = read_all(bytes);
      for (size_t i = 0; i < size; ++i) {
        data[i + 1] = std::byte{4};
        EXPECT_NE(read_all(bytes), before) << size << " bytes, byte " << i;
        data[i + 1] = std::byte{3};
      }
      EXPECT_EQ(read_all(bytes), before);
    }
  }
  use_kernels(best);
}

}  // namespace
}  // namespace oxbow::kernels
