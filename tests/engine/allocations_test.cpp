// A step allocates nothing once its buffers have grown to their size, unless the memory takes a new page.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "engine/engine.h"
#include "engine/harness.h"
#include "engine/tiny_file.h"

namespace {

std::atomic<size_t> allocations{0};

}  // namespace

// Every allocation of C++ in this program is counted. Not inlined: the compiler would see malloc and delete.
[[gnu::noinline]] void* operator new(size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void* operator new(size_t size, const std::nothrow_t&) noexcept {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(size == 0 ? 1 : size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}

namespace oxbow::testing {
namespace {

class Allocations : public ::testing::TestWithParam<std::string> {};

TEST_P(Allocations, DoNotHappenInAStepAfterWarmUp) {
  engine::EngineOptions options;
  options.threads = 2;
  options.budget_bytes = size_t{64} << 20;
  options.max_step_tokens = 32;
  auto created = engine::Engine::create(load_tiny(GetParam(), TinyWeights::kBlocks), options);
  ASSERT_TRUE(created);
  engine::Engine& engine = **created;
  const std::vector<TokenId> tokens = some_tokens(32, engine.model().vocabulary(), 5);
  const SequenceId sequence = engine.memory().create();
  for (size_t position = 0; position < 250; ++position) {
    const engine::StepEntry entry{sequence, std::span(tokens).subspan(position % 32, 1),
                                  engine::Outputs::kLast};
    const size_t before = allocations.load();
    ASSERT_TRUE(engine.step({&entry, 1}));
    const size_t made = allocations.load() - before;
    // Every 16 tokens the memory adds a page of rows, every 64 one of keys and values; a checkpoint at 256 is
    // kept in a tree.
    if (position > 130 && position % 16 != 0) {
      ASSERT_EQ(made, 0U) << "at position " << position;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Allocations, ::testing::ValuesIn(tiny_model_names()),
                         [](const auto& model) { return test_name(model.param); });

}  // namespace
}  // namespace oxbow::testing
