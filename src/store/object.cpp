#include "store/object.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"

namespace oxbow::stores {

uint64_t Object::size_bytes() const {
  uint64_t size = layout::kHeaderBytes + layout::kTrailerBytes + layout::kEntryBytes + kSectionAlignment;
  for (const ObjectSection& section : sections) {
    uint64_t raw = 0;
    for (const auto part : section.parts) raw += part.size();
    size += align_up(raw, kSectionAlignment) + layout::kEntryBytes;
  }
  return size;
}

Status write_object(const Key& key, const Object& object, ByteSink sink) {
  ContainerWriter writer(std::move(sink), object.kind, object.fingerprint);
  OXBOW_TRY(writer.add(kKeySection, to_bytes(key)));
  for (const ObjectSection& section : object.sections) {
    OXBOW_TRY(writer.add(section.id, section.parts, section.compression));
  }
  return writer.finish();
}

Status check_wanted(const Object& object) {
  if (object.is_unwanted && object.is_unwanted()) return fail(ErrorKind::kInvalidState, "given up");
  return {};
}

Result<StoredObject> StoredObject::open(AlignedBuffer bytes, const Key& key, std::string name,
                                        size_t trailing) {
  const std::span<const std::byte> all = std::as_const(bytes).as<std::byte>();
  OXBOW_ASSIGN(ContainerReader reader, ContainerReader::open(all.first(all.size() - trailing), name));
  OXBOW_ASSIGN(const SectionBytes stored, reader.read(kKeySection, kKeyBytes));
  const auto expected = to_bytes(key);
  if (!std::equal(expected.begin(), expected.end(), stored.bytes().begin(), stored.bytes().end())) {
    return fail(ErrorKind::kInvalidInput, "{}: is the object of another key", name);
  }
  return StoredObject(std::move(bytes), std::move(reader));
}

}  // namespace oxbow::stores
