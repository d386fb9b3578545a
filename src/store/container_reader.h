#pragma once
// Reads a container in place (docs/formats/container.md).

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/status.h"
#include "store/container.h"

namespace oxbow::stores {

// The raw bytes of a section: a view into the container, or a buffer of its own when they were compressed.
// Move-only.
class SectionBytes {
 public:
  explicit SectionBytes(std::span<const std::byte> view) : view_(view) {}
  explicit SectionBytes(AlignedBuffer buffer)
      : buffer_(std::move(buffer)), view_(buffer_.data(), buffer_.size()) {}

  // 64-byte aligned when the container is.
  std::span<const std::byte> bytes() const { return view_; }

 private:
  AlignedBuffer buffer_;
  std::span<const std::byte> view_;
};

// Views the caller's bytes, which must outlive the reader and what it hands out, and stay unchanged. Reads
// from any number of threads. All errors are kInvalidInput (kOutOfBudget where memory is short), start with
// `name` and say where and what was expected.
class ContainerReader {
 public:
  enum class Verify {
    kAll,     // every section's checksum, now
    kOnRead,  // a section's checksum each time it is read
  };

  // Opens whatever the fingerprint is; the caller compares.
  static Result<ContainerReader> open(std::span<const std::byte> bytes, std::string name,
                                      Verify verify = Verify::kAll);

  // As written; may be none of the enumerators.
  ObjectKind kind() const { return kind_; }
  const Fingerprint& fingerprint() const { return fingerprint_; }

  // In the order of the file.
  std::span<const Section> sections() const { return sections_; }
  // Null when there is none.
  const Section* find(SectionId id) const;

  // The raw bytes, refused when they are more than limit_bytes. kNotFound for an absent section.
  Result<SectionBytes> read(SectionId id, uint64_t limit_bytes) const;
  // The same for a destination of exactly the raw length. On an error `raw` is undefined.
  Status read_into(SectionId id, std::span<std::byte> raw) const;

 private:
  ContainerReader(std::span<const std::byte> bytes, std::string name)
      : bytes_(bytes), name_(std::move(name)) {}

  Status parse_header();
  Status parse_trailer();
  Status parse_table();
  Result<Section> parse_entry(size_t i, uint64_t begin) const;
  Status check_ids();
  Status check_zeros(uint64_t begin, uint64_t end) const;
  Status check_checksum(const Section& section) const;
  std::span<const std::byte> stored(const Section& section) const;
  Result<const Section*> get(SectionId id) const;

  std::span<const std::byte> bytes_;
  std::string name_;
  ObjectKind kind_{};
  Fingerprint fingerprint_{};
  uint32_t count_ = 0;
  uint64_t manifest_ = 0;  // offset of the table
  bool verified_ = false;
  std::vector<Section> sections_;
  std::vector<uint32_t> by_id_;  // positions in sections_, sorted by id
};

}  // namespace oxbow::stores
