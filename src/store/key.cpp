#include "store/key.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/bytes.h"

namespace oxbow::stores {
namespace {

// Takes `digits` lowercase hexadecimal digits off the front.
std::optional<uint64_t> take_hex(std::string_view& text, size_t digits) {
  if (text.size() < digits) return std::nullopt;
  const std::string_view number = text.substr(0, digits);
  if (number.find_first_not_of("0123456789abcdef") != std::string_view::npos) return std::nullopt;
  uint64_t value = 0;
  std::from_chars(number.data(), number.data() + digits, value, 16);
  text.remove_prefix(digits);
  return value;
}

bool take_dash(std::string_view& text) {
  if (text.empty() || text.front() != '-') return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::string to_hex(std::span<const std::byte> bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::byte byte : bytes)
    fmt::format_to(std::back_inserter(text), "{:02x}", std::to_integer<int>(byte));
  return text;
}

std::array<std::byte, kKeyBytes> to_bytes(const Key& key) {
  std::array<std::byte, kKeyBytes> bytes{};
  std::copy(key.partition.begin(), key.partition.end(), bytes.begin());
  store(bytes.data() + 16, key.position);
  store(bytes.data() + 24, key.hash.low);
  store(bytes.data() + 32, key.hash.high);
  store(bytes.data() + 40, key.kind);
  return bytes;
}

std::string to_name(const Key& key) {
  return fmt::format("{}-{:016x}-{}-{:02x}", to_hex(key.partition), key.position, to_hex(key.hash), key.kind);
}

std::optional<Key> parse_key(std::string_view name) {
  if (name.size() != kKeyNameLength) return std::nullopt;
  Key key;
  for (std::byte& byte : key.partition) {
    const auto value = take_hex(name, 2);
    if (!value) return std::nullopt;
    byte = static_cast<std::byte>(*value);
  }
  if (!take_dash(name)) return std::nullopt;
  const auto position = take_hex(name, 16);
  if (!position || !take_dash(name)) return std::nullopt;
  const auto high = take_hex(name, 16);
  const auto low = take_hex(name, 16);
  if (!high || !low || !take_dash(name)) return std::nullopt;
  const auto kind = take_hex(name, 2);
  if (!kind) return std::nullopt;
  key.position = *position;
  key.hash = {.low = *low, .high = *high};
  key.kind = static_cast<uint8_t>(*kind);
  return key;
}

}  // namespace oxbow::stores
