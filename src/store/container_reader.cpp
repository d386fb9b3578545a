#include "store/container_reader.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/bytes.h"
#include "base/hash.h"
#include "store/compression.h"

namespace oxbow::stores {

using namespace layout;

Result<ContainerReader> ContainerReader::open(std::span<const std::byte> bytes, std::string name,
                                              Verify verify) {
  ContainerReader reader(bytes, std::move(name));
  OXBOW_TRY(reader.parse_header());
  OXBOW_TRY(reader.parse_trailer());
  OXBOW_TRY(reader.parse_table());
  OXBOW_TRY(reader.check_ids());
  if (verify == Verify::kAll) {
    for (const Section& section : reader.sections_) OXBOW_TRY(reader.check_checksum(section));
    reader.verified_ = true;
  }
  return reader;
}

Status ContainerReader::parse_header() {
  if (bytes_.size() < kHeaderBytes + kTrailerBytes) {
    return fail(ErrorKind::kInvalidInput, "{}: {} bytes, the smallest container has {}", name_, bytes_.size(),
                kHeaderBytes + kTrailerBytes);
  }
  const std::byte* header = bytes_.data();
  if (load<uint64_t>(header) != kMagic) {
    return fail(ErrorKind::kInvalidInput, "{}: is no container (it does not start with OXBOWBOX)", name_);
  }
  if (const auto version = load<uint32_t>(header + 8); version != kContainerVersion) {
    return fail(ErrorKind::kInvalidInput, "{}: container version {}, this build reads {}", name_, version,
                kContainerVersion);
  }
  if (load<uint64_t>(header + 56) != hash64(bytes_.first(56))) {
    return fail(ErrorKind::kInvalidInput, "{}: the checksum of the header is wrong", name_);
  }
  OXBOW_TRY(check_zeros(32, 56));
  kind_ = static_cast<ObjectKind>(load<uint32_t>(header + 12));
  std::copy_n(bytes_.begin() + 16, fingerprint_.size(), fingerprint_.begin());
  return {};
}

Status ContainerReader::parse_trailer() {
  const uint64_t begin = bytes_.size() - kTrailerBytes;
  const std::byte* trailer = bytes_.data() + begin;
  if (load<uint64_t>(trailer + 32) != kEndMagic) {
    return fail(ErrorKind::kInvalidInput, "{}: does not end with OXBOWEND: truncated or extended", name_);
  }
  if (const auto size = load<uint64_t>(trailer + 16); size != bytes_.size()) {
    return fail(ErrorKind::kInvalidInput, "{}: {} bytes, its trailer states {}", name_, bytes_.size(), size);
  }
  count_ = load<uint32_t>(trailer);
  manifest_ = load<uint64_t>(trailer + 8);
  if (count_ > kMaxSections) {
    return fail(ErrorKind::kInvalidInput, "{}: {} sections, more than {}", name_, count_, kMaxSections);
  }
  const uint64_t table_bytes = count_ * uint64_t{kEntryBytes};
  if (table_bytes > begin - kHeaderBytes || manifest_ != begin - table_bytes) {
    return fail(ErrorKind::kInvalidInput,
                "{}: the table of {} sections at {} does not end at the trailer at {}", name_, count_,
                manifest_, begin);
  }
  Hasher hasher;
  hasher.update(bytes_.first(kHeaderBytes));
  hasher.update(bytes_.subspan(manifest_, table_bytes + kTrailerBytes - 16));
  if (load<uint64_t>(trailer + 24) != hasher.digest64()) {
    return fail(ErrorKind::kInvalidInput, "{}: the checksum of the manifest is wrong", name_);
  }
  if (load<uint32_t>(trailer + 4) != 0) {
    return fail(ErrorKind::kInvalidInput, "{}: the zeros of the trailer are not zero", name_);
  }
  return {};
}

Status ContainerReader::parse_table() {
  sections_.reserve(count_);
  uint64_t end = kHeaderBytes;
  for (size_t i = 0; i < count_; ++i) {
    const uint64_t begin = align_up(end, kSectionAlignment);
    OXBOW_ASSIGN(const Section section, parse_entry(i, begin));
    OXBOW_TRY(check_zeros(end, begin));
    end = begin + section.stored_bytes;
    sections_.push_back(section);
  }
  if (manifest_ != align_up(end, kSectionAlignment)) {
    return fail(ErrorKind::kInvalidInput, "{}: the manifest is at {}, the sections end at {}", name_,
                manifest_, end);
  }
  return check_zeros(end, manifest_);
}

// begin: where the section has to start, at most kSectionAlignment - 1 behind the manifest.
Result<Section> ContainerReader::parse_entry(size_t i, uint64_t begin) const {
  const std::byte* entry = bytes_.data() + manifest_ + i * kEntryBytes;
  const auto flags = load<uint32_t>(entry + 8);
  Section section;
  section.id = {load<uint32_t>(entry), load<uint32_t>(entry + 4)};
  section.compressed = (flags & kCompressedFlag) != 0;
  section.offset = load<uint64_t>(entry + 16);
  section.stored_bytes = load<uint64_t>(entry + 24);
  section.raw_bytes = load<uint64_t>(entry + 32);
  section.checksum = load<uint64_t>(entry + 40);
  if ((flags & ~kCompressedFlag) != 0 || load<uint32_t>(entry + 12) != 0) {
    return fail(ErrorKind::kInvalidInput, "{}: section {}: unknown flags {:#x}", name_, to_string(section.id),
                flags);
  }
  if (section.offset != begin || begin > manifest_ || section.stored_bytes > manifest_ - begin) {
    return fail(ErrorKind::kInvalidInput,
                "{}: section {}: {} bytes at {}, expected at {} and before the manifest at {}", name_,
                to_string(section.id), section.stored_bytes, section.offset, begin, manifest_);
  }
  if (!section.compressed && section.raw_bytes != section.stored_bytes) {
    return fail(ErrorKind::kInvalidInput,
                "{}: section {}: {} raw bytes in {} stored ones, without compression", name_,
                to_string(section.id), section.raw_bytes, section.stored_bytes);
  }
  return section;
}

Status ContainerReader::check_ids() {
  by_id_.resize(sections_.size());
  std::iota(by_id_.begin(), by_id_.end(), uint32_t{0});
  std::sort(by_id_.begin(), by_id_.end(),
            [this](uint32_t a, uint32_t b) { return sections_[a].id < sections_[b].id; });
  const auto twice = std::adjacent_find(by_id_.begin(), by_id_.end(), [this](uint32_t a, uint32_t b) {
    return sections_[a].id == sections_[b].id;
  });
  if (twice != by_id_.end()) {
    return fail(ErrorKind::kInvalidInput, "{}: section {} exists twice", name_,
                to_string(sections_[*twice].id));
  }
  return {};
}

Status ContainerReader::check_zeros(uint64_t begin, uint64_t end) const {
  for (uint64_t i = begin; i < end; ++i) {
    if (bytes_[i] != std::byte{0}) {
      return fail(ErrorKind::kInvalidInput, "{}: the byte at {} is not zero", name_, i);
    }
  }
  return {};
}

std::span<const std::byte> ContainerReader::stored(const Section& section) const {
  return bytes_.subspan(section.offset, section.stored_bytes);
}

Status ContainerReader::check_checksum(const Section& section) const {
  if (hash64(stored(section)) != section.checksum) {
    return fail(ErrorKind::kInvalidInput, "{}: section {}: the checksum of its {} bytes at {} is wrong",
                name_, to_string(section.id), section.stored_bytes, section.offset);
  }
  return {};
}

const Section* ContainerReader::find(SectionId id) const {
  const auto at = std::lower_bound(by_id_.begin(), by_id_.end(), id,
                                   [this](uint32_t i, SectionId wanted) { return sections_[i].id < wanted; });
  if (at == by_id_.end() || sections_[*at].id != id) return nullptr;
  return &sections_[*at];
}

Result<const Section*> ContainerReader::get(SectionId id) const {
  const Section* section = find(id);
  if (section == nullptr) return fail(ErrorKind::kNotFound, "{}: has no section {}", name_, to_string(id));
  if (!verified_) OXBOW_TRY(check_checksum(*section));
  return section;
}

Result<SectionBytes> ContainerReader::read(SectionId id, uint64_t limit_bytes) const {
  OXBOW_ASSIGN(const Section* section, get(id));
  if (section->raw_bytes > limit_bytes) {
    return fail(ErrorKind::kInvalidInput, "{}: section {}: {} bytes, more than the expected {}", name_,
                to_string(id), section->raw_bytes, limit_bytes);
  }
  if (!section->compressed) return SectionBytes(stored(*section));
  if (section->raw_bytes == 0) {
    OXBOW_TRY(read_into(id, {}));
    return SectionBytes(std::span<const std::byte>());
  }
  AlignedBuffer buffer = AlignedBuffer::try_allocate(section->raw_bytes);
  if (buffer.empty()) {
    return fail(ErrorKind::kOutOfBudget, "{}: section {}: no memory for {} bytes", name_, to_string(id),
                section->raw_bytes);
  }
  OXBOW_TRY(read_into(id, buffer.as<std::byte>()));
  return SectionBytes(std::move(buffer));
}

Status ContainerReader::read_into(SectionId id, std::span<std::byte> raw) const {
  OXBOW_ASSIGN(const Section* section, get(id));
  if (section->raw_bytes != raw.size()) {
    return fail(ErrorKind::kInvalidInput, "{}: section {}: {} bytes, expected {}", name_, to_string(id),
                section->raw_bytes, raw.size());
  }
  if (!section->compressed) {
    std::copy_n(stored(*section).begin(), raw.size(), raw.begin());
    return {};
  }
  if (const Status done = decompress(stored(*section), raw); !done) {
    return fail(done.error().kind, "{}: section {}: {}", name_, to_string(id), done.error().message);
  }
  return {};
}

}  // namespace oxbow::stores
