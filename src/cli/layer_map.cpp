#include "cli/layer_map.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace oxbow::cli {
namespace {

constexpr size_t kLettersPerRow = 50;
constexpr size_t kWordsPerRow = 16;

bool is_feed_forward(char letter) {
  return letter == 'F' || letter == 'E';
}

// The feed-forward's letter when each layer ends with the same one after a mixer.
std::string common_feed_forward(const std::vector<std::string>& letters) {
  if (letters.empty() || letters[0].size() < 2 || !is_feed_forward(letters[0].back())) return {};
  const char last = letters[0].back();
  const bool all =
      std::ranges::all_of(letters, [&](const std::string& l) { return l.size() >= 2 && l.back() == last; });
  return all ? std::string(1, last) : std::string();
}

std::string count_letters(const std::vector<std::string>& parts) {
  std::vector<std::pair<std::string, size_t>> counts;
  for (const std::string& part : parts) {
    const auto found = std::ranges::find(counts, part, &std::pair<std::string, size_t>::first);
    if (found == counts.end())
      counts.emplace_back(part, 1);
    else
      ++found->second;
  }
  std::vector<std::string> texts;
  for (const auto& [part, count] : counts) {
    std::vector<std::string> names;
    for (const char letter : part) names.push_back(letter_name(letter));
    texts.push_back(fmt::format("{} {} ({})", count, fmt::join(names, " and "), part));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

std::string letter_name(char letter) {
  switch (letter) {
    case 'A':
      return "attention";
    case 'W':
      return "windowed attention";
    case 'L':
      return "latent attention";
    case 'M':
      return "Mamba";
    case 'D':
      return "delta net";
    case 'K':
      return "Kimi delta attention";
    case 'C':
      return "short convolution";
    case 'R':
      return "RWKV";
    case 'F':
      return "dense feed-forward";
    case 'E':
      return "mixture of experts";
    default:
      return std::string(1, letter);
  }
}

LayerMap make_layer_map(const std::vector<std::string>& letters) {
  LayerMap map;
  map.common = common_feed_forward(letters);
  std::vector<std::string> parts;
  for (const std::string& layer : letters) parts.push_back(layer.substr(0, layer.size() - map.common.size()));
  const bool single = std::ranges::all_of(parts, [](const std::string& part) { return part.size() == 1; });
  const size_t per_row = single ? kLettersPerRow : kWordsPerRow;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i % per_row == 0)
      map.rows.emplace_back();
    else if (!single || i % 10 == 0)
      map.rows.back() += ' ';
    map.rows.back() += parts[i].empty() ? "-" : parts[i];
  }
  map.summary = fmt::format("{}: {}", parts.size(), count_letters(parts));
  if (!map.common.empty()) {
    map.summary += fmt::format(", each with a {} ({})", letter_name(map.common[0]), map.common);
  }
  return map;
}

}  // namespace oxbow::cli
