#include "text/special_tokens.h"

#include <algorithm>

namespace oxbow::text {

SpecialTokens::SpecialTokens(const Vocabulary& vocabulary, bool with_control) {
  for (size_t i = 0; i < vocabulary.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    const TokenKind kind = vocabulary.kind(id);
    const bool control = kind == TokenKind::kControl || kind == TokenKind::kUnknown;
    if (kind != TokenKind::kUserDefined && !(control && with_control)) continue;
    const std::string_view text = vocabulary.token_text(id);
    if (!text.empty() && text.size() <= kLongestBytes) entries_.push_back({text, id, control});
  }
  std::ranges::sort(entries_, {}, &Entry::text);
  for (const Entry& entry : entries_) ++first_byte_begin_[static_cast<uint8_t>(entry.text[0]) + 1];
  for (size_t byte = 1; byte < first_byte_begin_.size(); ++byte)
    first_byte_begin_[byte] += first_byte_begin_[byte - 1];
}

std::optional<SpecialTokens::Found> SpecialTokens::find(std::string_view text, size_t from) const {
  for (size_t at = from; at < text.size(); ++at) {
    const auto byte = static_cast<uint8_t>(text[at]);
    if (first_byte_begin_[byte] == first_byte_begin_[byte + 1]) continue;
    if (const auto found = longest_at(text, at)) return found;
  }
  return std::nullopt;
}

bool SpecialTokens::ends_within(std::string_view text) const {
  const size_t last = text.find_last_not_of(" \t\r\n");
  if (last == std::string_view::npos) return false;
  for (size_t at = text.size() - std::min(text.size(), kLongestBytes); at <= last; ++at) {
    const std::string_view front = text.substr(at);
    auto entry = std::ranges::lower_bound(entries_, front, {}, &Entry::text);
    for (; entry != entries_.end() && entry->text.starts_with(front); ++entry)
      if (entry->is_control && entry->text.size() > front.size()) return true;
  }
  return false;
}

std::optional<SpecialTokens::Found> SpecialTokens::longest_at(std::string_view text, size_t begin) const {
  const auto byte = static_cast<uint8_t>(text[begin]);
  auto first = entries_.begin() + first_byte_begin_[byte];
  auto last = entries_.begin() + first_byte_begin_[byte + 1];
  std::optional<Found> longest;
  // Narrows [first, last) to the entries that agree with the text in `depth` bytes. Among those, the one that
  // ends there sorts first.
  for (size_t depth = 1; first != last; ++depth) {
    if (first->text.size() == depth) {
      longest = Found{begin, depth, first->id};
      ++first;
    }
    if (begin + depth == text.size()) break;
    const auto wanted = static_cast<uint8_t>(text[begin + depth]);
    const auto byte_at = [depth](const Entry& entry) { return static_cast<uint8_t>(entry.text[depth]); };
    first = std::partition_point(first, last, [&](const Entry& entry) { return byte_at(entry) < wanted; });
    last = std::partition_point(first, last, [&](const Entry& entry) { return byte_at(entry) == wanted; });
  }
  return longest;
}

}  // namespace oxbow::text
