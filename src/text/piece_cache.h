#pragma once
// Remembers where the tokens of recent pieces stand in the output of one encode call, because words come
// again.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "text/flat_index.h"
#include "text/vocabulary.h"

namespace oxbow::text {

// A table of fixed size; a newer piece displaces an older one. The texts of the pieces and the output must
// stay while the cache is used; the output may grow.
class PieceCache {
 public:
  static constexpr size_t kLongestPieceBytes = 32;
  static constexpr size_t kSlots = 4096;
  // Below this many bytes of text the table costs more than it gives.
  static constexpr size_t kWorthwhileTextBytes = 4096;

  explicit PieceCache(size_t text_bytes) {
    if (text_bytes >= kWorthwhileTextBytes) slots_.resize(kSlots);
  }

  // Appends the tokens of piece with encode(), or copies those it had before.
  template <typename Encode>
  void encode(std::string_view piece, std::vector<TokenId>& out, Encode&& encode) {
    if (slots_.empty() || piece.size() > kLongestPieceBytes) return encode();
    Slot& slot = slots_[hash_bytes(piece) % kSlots];
    const size_t begin = out.size();
    if (slot.piece == piece) {
      out.resize(begin + slot.count);
      for (size_t i = 0; i < slot.count; ++i) out[begin + i] = out[slot.begin + i];
      return;
    }
    encode();
    slot = {piece, begin, out.size() - begin};
  }

 private:
  struct Slot {
    std::string_view piece;
    size_t begin = 0, count = 0;  // in the output
  };
  std::vector<Slot> slots_;
};

}  // namespace oxbow::text
