#include <cstdlib>
#include <string>

#include "kernel_fixture.h"

namespace oxbow::kernels {
namespace {

TEST(KernelTable, PortableAlwaysRunsAndStandsFirst) {
  ASSERT_FALSE(available_kernels().empty());
  EXPECT_EQ(available_kernels().front()->name, "portable");
}

TEST(KernelTable, EveryEntryOfEveryTableIsSet) {
  for (const KernelTable* table : available_kernels()) {
    EXPECT_TRUE(table->quantize_rows && table->matmul && table->rms_norm && table->add_scaled &&
                table->scale && table->silu_mul && table->gate_norm && table->softplus && table->softmax &&
                table->rope && table->conv && table->mamba2_scan && table->store_key && table->store_value &&
                table->attend)
        << table->name;
  }
}

TEST(KernelTable, UseKernelsForcesATableAndRefusesUnknownNames) {
  const std::string before(kernels().name);
  for (const KernelTable* table : available_kernels()) {
    EXPECT_TRUE(use_kernels(table->name));
    EXPECT_EQ(&kernels(), table);
  }
  EXPECT_FALSE(use_kernels("mmx"));
  EXPECT_FALSE(use_kernels(""));
  EXPECT_TRUE(use_kernels(before));
}

// A fresh process chooses by the environment; the choice is made once per process.
TEST(KernelTableDeathTest, EnvironmentNamesTheTable) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        ::setenv("OXBOW_ISA", "portable", 1);
        std::exit(kernels().name == "portable" ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(
      {
        ::setenv("OXBOW_ISA", "no such table", 1);
        std::exit(&kernels() == available_kernels().back() ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace oxbow::kernels
