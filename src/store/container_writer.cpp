#include "store/container_writer.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"

namespace oxbow::stores {
namespace {

std::array<std::byte, layout::kHeaderBytes> header_of(ObjectKind kind, const Fingerprint& fingerprint) {
  std::array<std::byte, layout::kHeaderBytes> header{};
  store(header.data(), layout::kMagic);
  store(header.data() + 8, kContainerVersion);
  store(header.data() + 12, static_cast<uint32_t>(kind));
  std::copy(fingerprint.begin(), fingerprint.end(), header.begin() + 16);
  store(header.data() + 56, hash64(std::span(header).first(56)));
  return header;
}

void write_entry(std::byte* entry, const Section& section) {
  store(entry, section.id.kind);
  store(entry + 4, section.id.index);
  store(entry + 8, section.compressed ? layout::kCompressedFlag : uint32_t{0});
  store(entry + 16, section.offset);
  store(entry + 24, section.stored_bytes);
  store(entry + 32, section.raw_bytes);
  store(entry + 40, section.checksum);
}

}  // namespace

ContainerWriter::ContainerWriter(ByteSink sink, ObjectKind kind, const Fingerprint& fingerprint)
    : sink_(std::move(sink)), header_(header_of(kind, fingerprint)) {}

Status ContainerWriter::emit(std::span<const std::byte> bytes) {
  OXBOW_TRY(sink_(bytes));
  written_ += bytes.size();
  return {};
}

Status ContainerWriter::emit_stored(std::span<const std::byte> bytes) {
  hasher_.update(bytes);
  return emit(bytes);
}

Status ContainerWriter::align() {
  static constexpr std::array<std::byte, kSectionAlignment> kZeros{};
  if (written_ == 0) OXBOW_TRY(emit(header_));
  return emit(std::span(kZeros).first(align_up(written_, kSectionAlignment) - written_));
}

Status ContainerWriter::begin(SectionId id, Compression compression) {
  OXBOW_CHECK(!open_);
  if (sections_.size() == kMaxSections) {
    return fail(ErrorKind::kInvalidInput, "a container holds at most {} sections", kMaxSections);
  }
  if (!ids_.insert(id).second) {
    return fail(ErrorKind::kInvalidInput, "section {} was written before", to_string(id));
  }
  OXBOW_TRY(align());
  open_ = true;
  hasher_ = Hasher();
  sections_.push_back({.id = id, .compressed = compression == Compression::kZstd, .offset = written_});
  if (compression == Compression::kZstd) compressor_.emplace();
  return {};
}

Status ContainerWriter::append(std::span<const std::byte> bytes) {
  OXBOW_CHECK(open_);
  sections_.back().raw_bytes += bytes.size();
  if (!compressor_) return emit_stored(bytes);
  return compressor_->append(bytes, [this](std::span<const std::byte> part) { return emit_stored(part); });
}

Status ContainerWriter::end() {
  OXBOW_CHECK(open_);
  if (compressor_) {
    OXBOW_TRY(compressor_->finish([this](std::span<const std::byte> part) { return emit_stored(part); }));
    compressor_.reset();
  }
  open_ = false;
  Section& section = sections_.back();
  section.stored_bytes = written_ - section.offset;
  section.checksum = hasher_.digest64();
  return {};
}

Status ContainerWriter::add(SectionId id, std::span<const std::byte> bytes, Compression compression) {
  return add(id, std::span(&bytes, 1), compression);
}

Status ContainerWriter::add(SectionId id, std::span<const std::span<const std::byte>> parts,
                            Compression compression) {
  OXBOW_TRY(begin(id, compression));
  for (const auto part : parts) OXBOW_TRY(append(part));
  return end();
}

Status ContainerWriter::finish() {
  OXBOW_CHECK(!open_);
  OXBOW_TRY(align());
  const uint64_t manifest = written_;
  std::vector<std::byte> bytes(sections_.size() * layout::kEntryBytes + layout::kTrailerBytes);
  for (size_t i = 0; i < sections_.size(); ++i)
    write_entry(bytes.data() + i * layout::kEntryBytes, sections_[i]);
  std::byte* trailer = bytes.data() + sections_.size() * layout::kEntryBytes;
  store(trailer, static_cast<uint32_t>(sections_.size()));
  store(trailer + 8, manifest);
  store(trailer + 16, manifest + bytes.size());
  Hasher hasher;
  hasher.update(header_);
  hasher.update(std::span(bytes).first(bytes.size() - 16));
  store(trailer + 24, hasher.digest64());
  store(trailer + 32, layout::kEndMagic);
  return emit(bytes);
}

}  // namespace oxbow::stores
