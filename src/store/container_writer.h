#pragma once
// Writes a container in one pass (docs/formats/container.md).

#include <optional>
#include <set>
#include <span>
#include <vector>

#include "base/hash.h"
#include "base/status.h"
#include "store/compression.h"
#include "store/container.h"

namespace oxbow::stores {

enum class Compression { kNone, kZstd };

// Bytes go to the sink as they come; the writer keeps 48 bytes per section and what the compressor needs. The
// first error of the sink is returned by the call that met it; nothing may be written after an error. Spans
// are used during the call only. One thread at a time.
class ContainerWriter {
 public:
  // The sink must outlive the writer. The header is written with the first section or by finish().
  ContainerWriter(ByteSink sink, ObjectKind kind, const Fingerprint& fingerprint);

  // A section in pieces: begin, append any number of times, end. An id must be new.
  Status begin(SectionId id, Compression compression = Compression::kNone);
  Status append(std::span<const std::byte> bytes);
  Status end();

  // A section whose bytes lie in one or several places.
  Status add(SectionId id, std::span<const std::byte> bytes, Compression compression = Compression::kNone);
  Status add(SectionId id, std::span<const std::span<const std::byte>> parts,
             Compression compression = Compression::kNone);

  // Writes the manifest. A container without this is refused by every reader.
  Status finish();

  // Bytes given to the sink so far.
  uint64_t size_bytes() const { return written_; }

 private:
  Status emit(std::span<const std::byte> bytes);
  Status emit_stored(std::span<const std::byte> bytes);
  Status align();

  ByteSink sink_;
  std::array<std::byte, layout::kHeaderBytes> header_;
  uint64_t written_ = 0;
  std::vector<Section> sections_;
  std::set<SectionId> ids_;
  // Of the section between begin() and end().
  bool open_ = false;
  Hasher hasher_;
  std::optional<Compressor> compressor_;
};

}  // namespace oxbow::stores
