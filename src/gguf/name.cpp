#include "gguf/name.h"

#include <fmt/format.h>

#include <cstdint>

#include "gguf/limits.h"

namespace oxbow::gguf {
namespace {

// Bytes of the UTF-8 sequence at the start of text; 0 when it is malformed or cut off. text is not empty.
size_t sequence_length(std::string_view text) {
  const auto at = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = at(0);
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  const size_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
  }
  // The second byte's range excludes overlong forms, surrogates and what lies above U+10FFFF.
  if ((first == 0xe0 && at(1) < 0xa0) || (first == 0xed && at(1) > 0x9f)) return 0;
  if ((first == 0xf0 && at(1) < 0x90) || (first == 0xf4 && at(1) > 0x8f)) return 0;
  return length;
}

}  // namespace

bool is_valid_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = sequence_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string quoted(std::string_view name) {
  constexpr size_t kShown = 80;
  std::string shown = "\"";
  while (!name.empty() && shown.size() < kShown) {
    const size_t length = sequence_length(name);
    const auto first = static_cast<uint8_t>(name[0]);
    const bool plain =
        length > 1 || (length == 1 && first >= 0x20 && first != 0x7f && first != '"' && first != '\\');
    if (plain) {
      shown += name.substr(0, length);
    } else {
      shown += fmt::format("\\x{:02x}", first);
    }
    name.remove_prefix(plain ? length : 1);
  }
  shown += name.empty() ? "\"" : fmt::format("...\" ({} more bytes)", name.size());
  return shown;
}

std::string name_problem(std::string_view name) {
  if (name.empty()) return "is empty";
  if (name.size() > kMaxNameBytes)
    return fmt::format("has {} bytes, more than {}", name.size(), kMaxNameBytes);
  if (!is_valid_utf8(name)) return "is not valid UTF-8";
  return {};
}

}  // namespace oxbow::gguf
