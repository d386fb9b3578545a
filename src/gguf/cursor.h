#pragma once
// Reading forward through untrusted bytes: nothing is read past the end, every refusal says where.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/status.h"

namespace oxbow::gguf {

class Cursor {
 public:
  // file is the name in messages.
  Cursor(std::span<const std::byte> bytes, std::string file) : bytes_(bytes), file_(std::move(file)) {}

  size_t offset() const { return offset_; }
  size_t remaining() const { return bytes_.size() - offset_; }

  // What is being read ("metadata key \"general.name\""), for messages.
  void set_subject(std::string subject) { subject_ = std::move(subject); }

  // An error that names file, offset and subject.
  template <typename... Args>
  [[nodiscard]] tl::unexpected<Error> refuse(ErrorKind kind, fmt::format_string<Args...> format,
                                             Args&&... args) const {
    return fail(kind, "{}: at byte {}: {}: {}", file_, offset_, subject_,
                fmt::format(format, std::forward<Args>(args)...));
  }
  template <typename... Args>
  [[nodiscard]] tl::unexpected<Error> invalid(fmt::format_string<Args...> format, Args&&... args) const {
    return refuse(ErrorKind::kInvalidInput, format, std::forward<Args>(args)...);
  }

  template <typename T>
  Result<T> read(std::string_view what) {
    if (remaining() < sizeof(T)) return cut_off(what, sizeof(T));
    const T value = load<T>(bytes_.data() + offset_);
    offset_ += sizeof(T);
    return value;
  }

  Result<std::span<const std::byte>> take(uint64_t size_bytes, std::string_view what) {
    if (remaining() < size_bytes) return cut_off(what, size_bytes);
    const auto taken = bytes_.subspan(offset_, size_bytes);
    offset_ += size_bytes;
    return taken;
  }

  // A 64-bit length and that many bytes; a view into the file.
  Result<std::string_view> read_string(std::string_view what) {
    const size_t start = offset_;
    OXBOW_ASSIGN(const uint64_t length, read<uint64_t>(what));
    if (remaining() < length) {
      offset_ = start;
      return invalid("the {} claims {} bytes, but only {} follow", what, length,
                     remaining() - sizeof(length));
    }
    const std::string_view text(reinterpret_cast<const char*>(bytes_.data() + offset_), length);
    offset_ += length;
    return text;
  }

 private:
  tl::unexpected<Error> cut_off(std::string_view what, uint64_t needed) const {
    return invalid("the {} needs {} bytes, but the file ends after {}", what, needed, remaining());
  }

  std::span<const std::byte> bytes_;
  size_t offset_ = 0;
  std::string file_;
  std::string subject_;
};

}  // namespace oxbow::gguf
