#include "cli/escape.h"

#include <fmt/format.h>

#include "text/unicode.h"

namespace oxbow::cli {
namespace {

void append_escaped(std::string& out, std::string_view bytes) {
  for (const char byte : bytes) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
}

}  // namespace

std::string quoted(std::string_view bytes) {
  std::string out = "'";
  while (!bytes.empty()) {
    const auto character = text::decode_character(bytes);
    const std::string_view part = bytes.substr(0, character.size_bytes);
    const char32_t c = character.code_point;
    bytes.remove_prefix(character.size_bytes);
    if (!character.valid)
      append_escaped(out, part);
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c == '\r')
      out += "\\r";
    else if (c == '\\' || c == '\'')
      out.append("\\").append(part);
    else if (c < 0x20 || (c >= 0x7F && c < 0xA0))
      append_escaped(out, part);
    else
      out += part;
  }
  return out + "'";
}

}  // namespace oxbow::cli
