#pragma once
// Byte-level BPE (Sennrich et al. 2016; GPT-2's byte alphabet): a piece starts as its bytes, and the
// neighbours whose merge ranks first are joined until no merge applies.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/vocabulary.h"

namespace oxbow::text {

// GPT-2's alphabet: every byte stands for one printable character.
char32_t byte_character(uint8_t byte);
// The bytes of a byte-encoded text; characters outside the alphabet stay as they are.
std::string decode_byte_characters(std::string_view text);

// Immutable, keeps a reference to the vocabulary; any thread may encode with its own scratch.
class BytePairEncoder {
 public:
  explicit BytePairEncoder(const Vocabulary& vocabulary);

  struct Scratch {
    std::vector<uint32_t> symbols, next, previous;
    std::vector<uint64_t> queue;
    std::string characters;
  };

  // Appends the tokens of one piece, of at most kLongestPieceBytes. Takes n log n steps for n bytes. A byte
  // that the vocabulary has no token for becomes the tokens of U+FFFD, or the unknown token, or nothing.
  void encode(std::string_view piece, Scratch& scratch, std::vector<TokenId>& out) const;

  static constexpr size_t kLongestPieceBytes = size_t{1} << 30;

 private:
  void encode_short(std::string_view piece, std::vector<TokenId>& out) const;
  void encode_long(std::string_view piece, Scratch& scratch, std::vector<TokenId>& out) const;
  uint32_t rank(uint32_t left, uint32_t right) const;
  void emit(uint32_t symbol, std::string_view bytes, std::vector<TokenId>& out) const;

  const Vocabulary& vocabulary_;
  FlatIndex by_pair_;                                  // (left, right) -> rank
  std::array<uint32_t, 256> byte_symbols_;             // the symbol that a byte starts as
  std::array<std::vector<TokenId>, 256> byte_tokens_;  // what a byte becomes when its symbol is no token
};

}  // namespace oxbow::text
