#pragma once
// An object on its way into a store, and one that came out.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/status.h"
#include "store/container_reader.h"
#include "store/container_writer.h"
#include "store/key.h"

namespace oxbow::stores {

// The section that holds an object's key; writers of objects use other kinds.
inline constexpr SectionId kKeySection{0x0059454b, 0};

struct ObjectSection {
  SectionId id;
  std::vector<std::span<const std::byte>> parts;  // one after the other
  Compression compression = Compression::kNone;
};

// What to put: sections that lie where they are. `owner` keeps the spans valid and unchanged for as long as
// the object lives.
struct Object {
  ObjectKind kind{};
  Fingerprint fingerprint{};
  // Hash of the first block_begin(position) items (store/prefix.h): where Redis lists the object. Not kept in
  // it.
  Hash128 block_hash;
  std::vector<ObjectSection> sections;
  std::shared_ptr<const void> owner;
  // For whoever puts it; either may be empty. Nobody wants it any more: asked between pieces, so that a put
  // can be given up; it then fails with kInvalidState.
  std::function<bool()> is_unwanted;
  // Its sections have been read and will not be again: their memory may go before the put is done.
  std::function<void()> was_read;

  // Of the container without compression, for budgets.
  uint64_t size_bytes() const;
};

// The object as a container that also holds its key.
Status write_object(const Key& key, const Object& object, ByteSink sink);

// For the sinks of stores: kInvalidState when the object is not wanted any more.
Status check_wanted(const Object& object);

// What was got: a verified container, known to be that of the key, and the memory it lies in. Move-only.
class StoredObject {
 public:
  // Checks everything, all checksums included; errors start with `name`. The container may be followed by
  // `trailing` bytes of the buffer that do not belong to it.
  static Result<StoredObject> open(AlignedBuffer bytes, const Key& key, std::string name,
                                   size_t trailing = 0);

  const ContainerReader& reader() const { return reader_; }
  uint64_t size_bytes() const { return bytes_.size(); }

 private:
  StoredObject(AlignedBuffer bytes, ContainerReader reader)
      : bytes_(std::move(bytes)), reader_(std::move(reader)) {}

  AlignedBuffer bytes_;
  ContainerReader reader_;
};

}  // namespace oxbow::stores
