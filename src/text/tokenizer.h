#pragma once
// Text to tokens and back (docs/formats/tokenizers.md).

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "text/byte_pair_encoder.h"
#include "text/pre_tokenizer.h"
#include "text/sentence_piece_encoder.h"
#include "text/special_tokens.h"
#include "text/vocabulary.h"

namespace oxbow::text {

struct EncodeOptions {
  // Put the begin token before and the end token after, where the vocabulary says so.
  bool add_special = true;
  // Control tokens written in the text become those tokens. Leave it off for text from users.
  bool parse_special = true;
};

// Immutable and shared by any number of threads. Any byte sequence may be encoded; what the vocabulary can
// express comes back from decode() to the byte.
class Tokenizer {
 public:
  using Options = EncodeOptions;

  // Errors: those of Vocabulary::from_gguf, and a PCRE2 library without Unicode support.
  static Result<std::unique_ptr<Tokenizer>> from_gguf(const gguf::File& file);
  static Result<std::unique_ptr<Tokenizer>> create(std::shared_ptr<const Vocabulary> vocabulary);

  const Vocabulary& vocabulary() const { return *vocabulary_; }
  std::shared_ptr<const Vocabulary> shared_vocabulary() const { return vocabulary_; }

  // Takes n log n steps for n bytes. Special tokens are found first, from the left, the longest of those that
  // begin at one place; the text between them is encoded on its own.
  std::vector<TokenId> encode(std::string_view text, Options options) const;
  // As encode(), at the end of out.
  void encode_to(std::string_view text, Options options, std::vector<TokenId>& out) const;
  // The same, but no control or unknown token is recognised that reaches across one of `breaks` (byte offsets
  // in text, ascending): there the text is plain.
  void encode_to(std::string_view text, Options options, std::span<const size_t> breaks,
                 std::vector<TokenId>& out) const;

  // The first control or unknown token that is spelled in text at or after `from`.
  std::optional<SpecialTokens::Found> find_control(std::string_view text, size_t from) const;
  // Whether text ends within one: what is written behind it might complete it.
  bool ends_within_control(std::string_view text) const { return all_special_->ends_within(text); }

  // The bytes of the tokens, one after the other; a SentencePiece vocabulary's own first space is dropped.
  // Control, unknown and unused tokens are nothing, or their texts with show_special. Not always UTF-8: see
  // StreamDecoder.
  std::string decode(std::span<const TokenId> tokens, bool show_special = false) const;
  // Of one token, as it continues a text. Lives as long as the tokenizer. Empty for ids outside the
  // vocabulary.
  std::string_view token_bytes(TokenId id, bool show_special = false) const;

 private:
  class Session;

  std::optional<SpecialTokens::Found> find_special(std::string_view text, size_t from, bool with_control,
                                                   std::span<const size_t> breaks) const;
  explicit Tokenizer(std::shared_ptr<const Vocabulary> vocabulary);
  Status initialize();
  void store_token_bytes();

  std::shared_ptr<const Vocabulary> vocabulary_;
  std::unique_ptr<PreTokenizer> pre_tokenizer_;           // byte-level BPE
  std::unique_ptr<BytePairEncoder> byte_pair_;            // byte-level BPE
  std::unique_ptr<SentencePieceEncoder> sentence_piece_;  // SentencePiece BPE
  std::unique_ptr<SpecialTokens> all_special_, user_defined_;
  std::string token_bytes_;
  std::vector<size_t> token_ends_;
};

}  // namespace oxbow::text
