// Any bytes: an error, or a container whose every section can be read or refused, and that can be written
// again. The same bytes also with the header, the length and the checksums put right, so that what lies
// behind them is reached. And any text as the name of a key.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/hash.h"
#include "store/container_reader.h"
#include "store/container_writer.h"
#include "store/key.h"

namespace {

using namespace oxbow;
using namespace oxbow::stores;

constexpr uint64_t kLimit = uint64_t{1} << 20;

void require(bool condition) {
  if (!condition) std::abort();
}

bool all_read(const ContainerReader& reader, ContainerWriter& writer) {
  bool all = true;
  for (const Section& section : reader.sections()) {
    const auto bytes = reader.read(section.id, kLimit);
    if (!bytes) {
      require(!bytes.error().message.empty());
      all = false;
      continue;
    }
    require(bytes->bytes().size() == section.raw_bytes && section.raw_bytes <= kLimit);
    require(writer.add(section.id, bytes->bytes()).has_value());
  }
  return all;
}

void try_open(std::span<const std::byte> bytes) {
  const auto reader = ContainerReader::open(bytes, "fuzz");
  const auto lazy = ContainerReader::open(bytes, "fuzz", ContainerReader::Verify::kOnRead);
  require(!reader || lazy);
  if (!lazy) require(!lazy.error().message.empty());
  if (!reader) return;
  std::vector<std::byte> copy;
  const auto sink = [&copy](std::span<const std::byte> part) -> Status {
    copy.insert(copy.end(), part.begin(), part.end());
    return {};
  };
  ContainerWriter writer(sink, reader->kind(), reader->fingerprint());
  const bool all = all_read(*reader, writer);
  require(writer.finish().has_value());
  const auto again = ContainerReader::open(copy, "again");
  require(again.has_value());
  require(!all || again->sections().size() == reader->sections().size());
}

// Makes true what a random change never hits.
void put_right(std::span<std::byte> bytes) {
  using namespace layout;
  if (bytes.size() < kHeaderBytes + kTrailerBytes) return;
  store(bytes.data(), kMagic);
  store(bytes.data() + 8, kContainerVersion);
  store(bytes.data() + 56, hash64(bytes.first(56)));
  std::byte* trailer = bytes.data() + bytes.size() - kTrailerBytes;
  store(trailer + 16, static_cast<uint64_t>(bytes.size()));
  store(trailer + 32, kEndMagic);
  const uint64_t count = load<uint32_t>(trailer);
  if (count > (bytes.size() - kHeaderBytes - kTrailerBytes) / kEntryBytes) return;
  const uint64_t manifest = bytes.size() - kTrailerBytes - count * kEntryBytes;
  store(trailer + 8, manifest);
  for (uint64_t i = 0; i < count; ++i) {
    std::byte* entry = bytes.data() + manifest + i * kEntryBytes;
    const auto offset = load<uint64_t>(entry + 16);
    const auto size = load<uint64_t>(entry + 24);
    if (offset <= manifest && size <= manifest - offset)
      store(entry + 40, hash64(bytes.subspan(offset, size)));
  }
  Hasher hasher;
  hasher.update(bytes.first(kHeaderBytes));
  hasher.update(bytes.subspan(manifest, bytes.size() - 16 - manifest));
  store(trailer + 24, hasher.digest64());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  try_open(bytes);
  std::vector<std::byte> changed(bytes.begin(), bytes.end());
  put_right(changed);
  try_open(changed);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto key = parse_key(text)) require(to_name(*key) == text);
  return 0;
}
