#pragma once
// Bytes as text that fits in one line and between quotes.

#include <string>
#include <string_view>

namespace oxbow::cli {

// 'text' with \n, \t, \r, \\, \' and \xNN for the other controls and for what is no UTF-8.
std::string quoted(std::string_view bytes);

}  // namespace oxbow::cli
