#include "cli/arguments.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

namespace oxbow::cli {
namespace {

struct Alias {
  std::string_view name, long_name;
};

// Flags that other programs made known and that the option parser cannot spell.
constexpr auto kShortNames = std::to_array<Alias>({
    {"-sys", "--system-prompt"},
    {"-sysf", "--system-prompt-file"},
    {"-ctk", "--cache-type-k"},
    {"-ctv", "--cache-type-v"},
    {"-ngl", "--gpu-layers"},
    {"-cnv", "--conversation"},
    {"-no-cnv", "--no-conversation"},
    {"-st", "--single-turn"},
    {"-tb", "--threads-batch"},
    {"-ub", "--ubatch-size"},
    {"-co", "--color"},
    {"-cram", "--cache-ram"},
    {"-rea", "--reasoning"},
    {"-np", "--parallel"},
    {"-cb", "--cont-batching"},
    {"-pg", "--prompt-generate"},
});

// What other programs call it.
constexpr auto kOtherNames = std::to_array<Alias>({
    {"--max-tokens", "--n-predict"},
    {"--num-predict", "--n-predict"},
    {"--num-ctx", "--ctx-size"},
    {"--max-model-len", "--ctx-size"},
    {"--context", "--ctx-size"},
    {"--num-thread", "--threads"},
    {"--repetition-penalty", "--repeat-penalty"},
    {"--system", "--system-prompt"},
    {"--kv-cache-dtype", "--cache-type-k"},
    {"--hidethinking", "--hide-thinking"},
    {"--nothink", "--no-think"},
    {"--default-chat-template-kwargs", "--chat-template-kwargs"},
});

std::string spelling(std::string_view word) {
  while (word.starts_with('-')) word.remove_prefix(1);
  std::string letters;
  for (const char c : word)
    letters += c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return letters;
}

// Insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

const Flag* find(std::string_view name, std::span<const Flag> flags) {
  for (const Flag& flag : flags) {
    if (std::ranges::find(flag.names, name) != flag.names.end()) return &flag;
  }
  return nullptr;
}

std::vector<std::string> names_of(std::span<const Flag> flags) {
  std::vector<std::string> names;
  for (const Flag& flag : flags) names.insert(names.end(), flag.names.begin(), flag.names.end());
  for (const Alias& alias : kShortNames) {
    if (find(alias.long_name, flags) != nullptr) names.emplace_back(alias.name);
  }
  return names;
}

tl::unexpected<Error> unknown_flag(std::string_view name, std::span<const Flag> flags) {
  const auto other = std::ranges::find(kOtherNames, name, &Alias::name);
  std::string near = other != kOtherNames.end() && find(other->long_name, flags) != nullptr
                         ? std::string(other->long_name)
                         : nearest(name, names_of(flags));
  if (near.empty())
    return fail(ErrorKind::kInvalidInput, "unknown option {}; --help lists the options", name);
  return fail(ErrorKind::kInvalidInput, "unknown option {}, did you mean {}?", name, near);
}

// "-n64": a short flag for a number with the number behind it.
const Flag* split_attached(const std::string& argument, std::span<const Flag> flags) {
  if (argument.size() < 3 || argument[1] == '-') return nullptr;
  const char after = argument[2];
  if (!std::isdigit(static_cast<unsigned char>(after)) && after != '-' && after != '.') return nullptr;
  const Flag* flag = find(argument.substr(0, 2), flags);
  return flag != nullptr && flag->takes_number ? flag : nullptr;
}

}  // namespace

std::string_view long_name_of(std::string_view flag) {
  const auto found = std::ranges::find(kShortNames, flag, &Alias::name);
  return found == kShortNames.end() ? std::string_view() : found->long_name;
}

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
  const std::string wanted = spelling(word);
  if (wanted.empty()) return {};
  const std::string* best = nullptr;
  size_t best_distance = std::max<size_t>(1, wanted.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::string letters = spelling(candidate);
    size_t distance = edit_distance(wanted, letters);
    // The beginning of a long name was typed, and nothing else is as near.
    if (wanted.size() >= 3 && letters.starts_with(wanted)) distance = std::min<size_t>(distance, 1);
    const bool unlike = letters.size() < 2 && letters != wanted;  // one letter is near to anything
    if (distance < best_distance && !unlike) {
      best = &candidate;
      best_distance = distance;
    }
  }
  return best == nullptr ? std::string() : *best;
}

Result<Arguments> normalize_arguments(std::span<const std::string> arguments, std::span<const Flag> flags) {
  Arguments out;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--") {
      out.words.insert(out.words.end(), arguments.begin() + static_cast<ptrdiff_t>(i) + 1, arguments.end());
      break;
    }
    if (argument.size() < 2 || argument[0] != '-') {
      out.words.push_back(argument);
      continue;
    }
    const size_t equals = argument.find('=');
    std::string name = argument.substr(0, equals);
    std::optional<std::string> value;
    if (equals != std::string::npos) value = argument.substr(equals + 1);
    if (const auto long_name = long_name_of(name); !long_name.empty()) name = long_name;
    const Flag* flag = find(name, flags);
    if (flag == nullptr && (flag = split_attached(argument, flags)) != nullptr) {
      name = argument.substr(0, 2);
      value = argument.substr(2);
    }
    if (flag == nullptr) return unknown_flag(argument.substr(0, equals), flags);
    if (!flag->takes_value && value) {
      return fail(ErrorKind::kInvalidInput, "{} takes no value, \"{}\" was given", name, *value);
    }
    if (flag->takes_value && !value) {
      if (i + 1 == arguments.size()) return fail(ErrorKind::kInvalidInput, "{} needs a value", name);
      value = arguments[++i];
    }
    out.flags.push_back(std::move(name));
    if (value) out.flags.push_back(std::move(*value));
  }
  return out;
}

}  // namespace oxbow::cli
