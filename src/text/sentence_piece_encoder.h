#pragma once
// SentencePiece BPE (Kudo and Richardson 2018): characters are joined to the neighbouring token with the
// highest score; characters that are no token become byte tokens.

#include <array>
#include <bitset>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/vocabulary.h"

namespace oxbow::text {

// U+2581, which stands for a space.
inline constexpr std::string_view kSpaceMark = "\xE2\x96\x81";

// Immutable, keeps a reference to the vocabulary; any thread may encode with its own scratch.
class SentencePieceEncoder {
 public:
  explicit SentencePieceEncoder(const Vocabulary& vocabulary);

  struct Symbol {
    uint32_t begin, size;  // bytes of the piece; size 0 once joined to the left neighbour
    uint32_t previous, next;
  };
  struct Join {
    float score;
    uint32_t left, right, size;
  };
  struct Scratch {
    std::vector<Symbol> symbols;
    std::vector<Join> queue;
  };

  // Where the first piece of text ends: text may be encoded piece by piece because no token spans a place
  // between them. Pieces begin at space marks.
  size_t piece_end(std::string_view text) const;

  // Appends the tokens of one piece (spaces already marked), of at most kLongestPieceBytes. Takes n log n
  // steps for n bytes. A byte without a byte token becomes the unknown token, or nothing.
  void encode(std::string_view piece, Scratch& scratch, std::vector<TokenId>& out) const;

  static constexpr size_t kLongestPieceBytes = size_t{1} << 30;

 private:
  void try_join(std::string_view piece, uint32_t left, uint32_t right, Scratch& scratch) const;

  const Vocabulary& vocabulary_;
  std::array<TokenId, 256> byte_tokens_;  // -1: none
  std::bitset<256> before_mark_;          // last bytes of what stands before a space mark inside some token
};

}  // namespace oxbow::text
