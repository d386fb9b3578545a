#pragma once
// Lists of Python calls with literal arguments: [f(x=1, y="a"), g()].

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace oxbow::text {

// Name and arguments of each call; nothing for other texts. JSON's true, false and null are good too.
std::optional<std::vector<std::pair<std::string, nlohmann::ordered_json>>> parse_python_calls(
    std::string_view text);

}  // namespace oxbow::text
