#pragma once
// Pre-tokenizers: how a byte-level BPE cuts text into pieces before it merges bytes inside each piece. A
// pre-tokenizer is a list of published patterns (docs/formats/tokenizers.md); `tokenizer.ggml.pre` names it.

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "text/regex.h"

namespace oxbow::text {

// What a `tokenizer.ggml.pre` name stands for. Names that split alike share one list of patterns.
struct PreTokenizerInfo {
  std::string_view name;
  std::span<const std::string_view> patterns;
  bool add_bos = false;       // default of tokenizer.ggml.add_bos_token
  bool whole_pieces = false;  // a piece that is a token as it stands is that token, whatever the merges say
};

// Nothing for a name that this build does not know.
const PreTokenizerInfo* find_pre_tokenizer(std::string_view name);

// The entry that stands in for an absent or unknown name.
const PreTokenizerInfo& default_pre_tokenizer();

std::span<const PreTokenizerInfo> all_pre_tokenizers();

// Immutable; any thread may split.
class PreTokenizer {
 public:
  // Errors only when the PCRE2 library lacks something the patterns need.
  static Result<PreTokenizer> create(const PreTokenizerInfo& info);

  // Replaces ends by the ends of the pieces, ascending, the last one text.size(); none for an empty text. The
  // pieces cover the text. Each pattern in turn cuts every piece so far into its matches and what lies
  // between them, and sees nothing outside the piece. Bytes that are no UTF-8 count as one U+FFFD each.
  // Returns false when a pattern gave up on some piece, which then stays whole.
  bool split(std::string_view text, RegexScratch& scratch, std::vector<size_t>& ends) const;

 private:
  bool split_utf8(std::string_view text, RegexScratch& scratch, std::vector<size_t>& ends) const;

  std::vector<Regex> patterns_;
};

}  // namespace oxbow::text
