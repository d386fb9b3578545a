#include "grammar/token_tree.h"

#include <algorithm>

namespace oxbow::grammar {

namespace {

struct Entry {
  std::string_view bytes;
  TokenId id;
};

// Tokens longer than this cannot be reached: their depth would not fit a node.
constexpr size_t kMaxTokenBytes = 0xFFFF;

TokenTree build(std::vector<Entry> entries) {
  std::ranges::sort(entries, [](const Entry& a, const Entry& b) {
    return a.bytes != b.bytes ? a.bytes < b.bytes : a.id < b.id;
  });
  TokenTree tree;
  tree.nodes.push_back({0, 0, 0, 0});
  std::vector<uint32_t> path = {0};  // nodes of the last entry's bytes
  std::string_view last;
  const auto close = [&](size_t depth) {
    for (; path.size() > depth + 1; path.pop_back())
      tree.nodes[path.back()].end = static_cast<uint32_t>(tree.nodes.size());
  };
  for (const Entry& entry : entries) {
    const auto [end, other] = std::ranges::mismatch(last, entry.bytes);
    close(static_cast<size_t>(end - last.begin()));
    for (size_t depth = path.size(); depth <= entry.bytes.size(); ++depth) {
      path.push_back(static_cast<uint32_t>(tree.nodes.size()));
      tree.nodes.push_back({0, static_cast<uint32_t>(tree.tokens.size()), static_cast<uint16_t>(depth),
                            static_cast<uint8_t>(entry.bytes[depth - 1])});
    }
    tree.tokens.push_back(entry.id);
    tree.longest_token_bytes = std::max(tree.longest_token_bytes, entry.bytes.size());
    if (entry.bytes.size() == 1) tree.single_bytes.set(static_cast<uint8_t>(entry.bytes[0]));
    last = entry.bytes;
  }
  close(0);
  const auto count = static_cast<uint32_t>(tree.nodes.size());
  tree.nodes[0].end = count;
  tree.nodes.push_back({count, static_cast<uint32_t>(tree.tokens.size()), 0, 0});
  return tree;
}

}  // namespace

std::string_view GrammarVocabulary::bytes(TokenId id) const {
  if (is_end(id)) return {};
  return tokenizer_.token_bytes(id);
}

std::optional<TokenId> GrammarVocabulary::find_control(std::string_view text) const {
  const auto id = find(text);
  if (!id || !bytes(*id).empty() || is_end(*id)) return std::nullopt;
  return id;
}

const TokenTree& GrammarVocabulary::tree() const {
  std::call_once(built_, [this] {
    std::vector<Entry> entries;
    entries.reserve(size());
    for (size_t i = 0; i < size(); ++i) {
      const auto id = static_cast<TokenId>(i);
      const std::string_view text = bytes(id);
      if (!text.empty() && text.size() <= kMaxTokenBytes) entries.push_back({text, id});
    }
    tree_ = build(std::move(entries));
  });
  return tree_;
}

}  // namespace oxbow::grammar
