// The table of checkpoints of a container whose checksums are right: whatever it says, memory refuses it or
// holds a sequence that can run.

#include <cstdint>
#include <cstring>

#include "base/check.h"
#include "memory/memory.h"

using namespace oxbow;
using namespace oxbow::memory;

namespace {

const std::vector<StateSpec> kSpecs = {
    {0, RecurrentSpec{20, 5}}, {1, KvSpec{1, 2, 2, 0}}, {2, KvSpec{1, 2, 2, 70}}};

std::vector<std::byte> layout_of(const MemoryLayout& layout) {
  std::vector<std::byte> bytes;
  const auto put = [&](auto value) {
    const auto* raw = reinterpret_cast<const std::byte*>(&value);
    bytes.insert(bytes.end(), raw, raw + sizeof(value));
  };
  put(uint64_t{layout.state_bytes()});
  put(uint64_t{layout.row_bytes()});
  put(static_cast<uint32_t>(layout.groups().size()));
  for (const KvGroup& group : layout.groups()) {
    put(uint64_t{group.window_tokens});
    put(uint64_t{group.page_bytes});
  }
  return bytes;
}

void advance(Memory& memory, SequenceId sequence, size_t count) {
  const std::vector<TokenId> tokens(count, 1);
  const BatchEntry entry{sequence, tokens, 0};
  auto step = memory.prepare({&entry, 1});
  if (!step) return;
  for (const auto& view : step->views().recurrent) {
    for (const auto& one : view.sequences) {
      for (const float* row : one.replay) OXBOW_CHECK(row != nullptr);
      if (one.source != nullptr) std::memmove(one.state, one.source, 32 * sizeof(float));
    }
  }
  step->commit();
}

}  // namespace

// One memory for all inputs, with a sequence in it that keeps its blocks of every size mapped.
struct Fixture {
  Memory memory{kSpecs, {size_t{1} << 20, 1, {}}};
  size_t used = 0;
  Fixture() {
    advance(memory, memory.create(), 1);
    used = memory.pool().used_bytes();
  }
};

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 8) return 0;
  // Bytes: number of tokens, number of blocks, a size for each from the layout's sizes, then the table.
  const size_t token_count = data[0] | (data[1] & 3) << 8;
  const size_t block_count = data[2] % 64;
  if (size < 3 + block_count) return 0;
  static Fixture fixture;
  Memory& memory = fixture.memory;
  const MemoryLayout& layout = memory.layout();
  const size_t sizes[] = {layout.state_bytes(), layout.row_page_bytes(), layout.groups()[0].page_bytes, 12};
  std::vector<std::byte> container;
  stores::ContainerWriter writer(
      [&](std::span<const std::byte> part) -> Status {
        container.insert(container.end(), part.begin(), part.end());
        return {};
      },
      stores::ObjectKind::kSession, {});
  const std::vector<TokenId> tokens(token_count, 3);
  OXBOW_CHECK(writer.add({snapshot::kTokens, 0}, std::as_bytes(std::span(tokens))));
  for (size_t i = 0; i < block_count; ++i) {
    const std::vector<std::byte> block(sizes[data[3 + i] % 4]);
    OXBOW_CHECK(writer.add({snapshot::kBlock, static_cast<uint32_t>(i)}, block));
  }
  // The layout at its start is right, the rest is the input's.
  const std::vector<std::byte> layout_bytes = layout_of(layout);
  const std::span<const uint8_t> rest(data + 3 + block_count, size - 3 - block_count);
  const std::span<const std::byte> parts[] = {layout_bytes, std::as_bytes(rest)};
  OXBOW_CHECK(writer.add({snapshot::kCheckpoints, 0}, parts));
  OXBOW_CHECK(writer.finish());
  auto reader = stores::ContainerReader::open(container, "input");
  OXBOW_CHECK(reader);
  (void)memory.admit(tokens, *reader, {}, "");
  if (auto restored = memory.restore(*reader)) {
    OXBOW_CHECK(restored->restored <= token_count);
    for (size_t i = 0; i < 3; ++i) advance(memory, restored->sequence, 1 + i * 40);
    const auto length = memory.length(restored->sequence);
    (void)memory.truncate(restored->sequence, *length / 2);
    advance(memory, restored->sequence, 2);
    OXBOW_CHECK(memory.keep(restored->sequence));
    OXBOW_CHECK(memory.drop(restored->sequence));
  }
  memory.evict(SIZE_MAX);
  OXBOW_CHECK(memory.pool().used_bytes() == fixture.used);
  return 0;
}
