#pragma once
// The vocabulary of a GGUF file: token texts, kinds, scores, merges and the special ids
// (docs/formats/tokenizers.md).

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "gguf/file.h"
#include "text/flat_index.h"
#include "text/pre_tokenizer.h"

namespace oxbow::text {

using TokenId = int32_t;

// tokenizer.ggml.token_type, 1 to 6.
enum class TokenKind : uint8_t { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };

enum class TokenizerModel { kByteLevelBpe, kSentencePieceBpe };

// Immutable; any thread may read. Owns its texts: the file may go. Ids outside the vocabulary are answered
// like an empty unused token, never refused, because they come from requests.
//
// Merges speak of *symbols*: a symbol below size() is that token, one at or above it is a text that merges go
// through without being a token that text may become (or being one at all).
class Vocabulary {
 public:
  // Errors: kUnsupported for a tokenizer.ggml.model other than gpt2 and llama; kInvalidInput that names the
  // key and index for missing keys, arrays of different lengths, duplicate tokens, unknown kinds, scores that
  // are no numbers, merges without a separating space, and a set add-bos or add-eos flag without such a
  // token. Special ids outside the vocabulary are dropped with a warning; so is an unknown pre-tokenizer
  // name, in favour of the default one.
  static Result<Vocabulary> from_gguf(const gguf::File& file);

  TokenizerModel model() const { return model_; }
  // Of a byte-level BPE: how it splits. The default entry when the file names none, or one that this build
  // lacks.
  const PreTokenizerInfo& pre_tokenizer() const { return *pre_tokenizer_; }

  size_t size() const { return kinds_.size(); }
  bool contains(TokenId id) const { return id >= 0 && static_cast<size_t>(id) < kinds_.size(); }

  // As in the file: byte-encoded for a byte-level BPE, with U+2581 for spaces for SentencePiece.
  std::string_view token_text(TokenId id) const;
  TokenKind kind(TokenId id) const {
    return contains(id) ? kinds_[static_cast<size_t>(id)] : TokenKind::kUnused;
  }
  float score(TokenId id) const {
    return contains(id) && !scores_.empty() ? scores_[static_cast<size_t>(id)] : 0.0f;
  }
  // The token with exactly this text, of any kind. Empty texts are never found.
  std::optional<TokenId> find(std::string_view text) const;
  // The token that plain text may become: normal and user-defined ones. What a prompt's author types can so
  // never turn into a control token by merging.
  std::optional<TokenId> find_text_token(std::string_view text) const;
  size_t longest_text_bytes() const { return longest_text_bytes_; }

  std::optional<TokenId> bos() const { return bos_; }
  std::optional<TokenId> eos() const { return eos_; }
  std::optional<TokenId> eot() const { return eot_; }
  std::optional<TokenId> unknown() const { return unknown_; }
  std::optional<TokenId> padding() const { return padding_; }
  bool add_bos() const { return add_bos_; }
  bool add_eos() const { return add_eos_; }
  bool add_space_prefix() const { return add_space_prefix_; }

  // eos, eot, eom, and control tokens with one of the usual texts (`<|im_end|>`, `<|eot_id|>`, ...).
  bool is_end_of_generation(TokenId id) const;
  std::span<const TokenId> end_of_generation() const { return end_of_generation_; }  // ascending

  struct Merge {
    uint32_t left, right, result;  // symbols
  };
  // By rank: the first is applied first. Empty for SentencePiece.
  std::span<const Merge> merges() const { return merges_; }
  size_t symbol_count() const { return ends_.size(); }
  std::optional<uint32_t> find_symbol(std::string_view text) const;

 private:
  Status read_tokens(const gguf::File& file);
  Status read_kinds(const gguf::File& file);
  Status read_scores(const gguf::File& file);
  Status read_merges(const gguf::File& file);
  Status read_special_ids(const gguf::File& file);
  void choose_pre_tokenizer(const gguf::File& file, std::string_view name);
  void promote_control_texts();
  void collect_end_of_generation(std::optional<TokenId> eom);
  std::string_view symbol_text(uint32_t symbol) const;
  uint32_t intern(std::string_view text);

  TokenizerModel model_ = TokenizerModel::kByteLevelBpe;
  const PreTokenizerInfo* pre_tokenizer_ = &default_pre_tokenizer();
  std::string texts_;         // of all symbols, one after the other
  std::vector<size_t> ends_;  // of each symbol's text in texts_
  FlatIndex by_text_;         // of tokens
  FlatIndex extra_by_text_;   // of symbols at or above size()
  std::vector<TokenKind> kinds_;
  std::vector<float> scores_;
  std::vector<Merge> merges_;
  std::optional<TokenId> bos_, eos_, eot_, unknown_, padding_;
  std::vector<TokenId> end_of_generation_;
  bool add_bos_ = false;
  bool add_eos_ = false;
  bool add_space_prefix_ = false;
  size_t longest_text_bytes_ = 0;
};

}  // namespace oxbow::text
