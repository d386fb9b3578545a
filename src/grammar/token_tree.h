#pragma once
// The tokens of a vocabulary by their bytes, as a tree that masks are computed on.

#include <bitset>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "grammar/token_mask.h"
#include "text/tokenizer.h"

namespace oxbow::grammar {

// Invariants:
// 1. Nodes stand in preorder, children by ascending byte; node 0 is the root (depth 0, no byte).
// 2. The subtree of node n is [n, nodes[n].end).
// 3. tokens[nodes[n].first_token .. nodes[n + 1].first_token) are the tokens that end at node n; a last,
//    extra node closes the list.
struct TokenTree {
  struct Node {
    uint32_t end;
    uint32_t first_token;
    uint16_t depth;  // bytes from the root
    uint8_t byte;
  };
  std::vector<Node> nodes;  // one more than there are nodes
  std::vector<TokenId> tokens;
  size_t longest_token_bytes = 0;
  std::bitset<256> single_bytes;  // bytes that are tokens of their own

  size_t node_count() const { return nodes.size() - 1; }
};

// A vocabulary as grammars see it: what each token adds to the text. One per model; any thread. The tree is
// built when it is first needed.
class GrammarVocabulary {
 public:
  // The tokenizer must outlive this and all grammars that use it.
  explicit GrammarVocabulary(const text::Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  size_t size() const { return tokenizer_.vocabulary().size(); }
  // Normal, user-defined and byte tokens; tokens that end a generation and control tokens are no text.
  const TokenTree& tree() const;
  // What a token adds to the text; empty for those that are no text.
  std::string_view bytes(TokenId id) const;
  std::span<const TokenId> end_tokens() const { return tokenizer_.vocabulary().end_of_generation(); }
  bool is_end(TokenId id) const { return tokenizer_.vocabulary().is_end_of_generation(id); }
  // The control token with this text, for grammars that need one where other grammars have text.
  std::optional<TokenId> find_control(std::string_view text) const;
  // Any token with this text.
  std::optional<TokenId> find(std::string_view text) const { return tokenizer_.vocabulary().find(text); }

 private:
  const text::Tokenizer& tokenizer_;
  mutable std::once_flag built_;
  mutable TokenTree tree_;
};

}  // namespace oxbow::grammar
