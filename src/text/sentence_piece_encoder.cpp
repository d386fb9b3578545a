#include "text/sentence_piece_encoder.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/unicode.h"

namespace oxbow::text {

namespace {

constexpr uint32_t kNone = UINT32_MAX;

// Heap order: the highest score on top, of equal scores the leftmost.
bool is_worse(const SentencePieceEncoder::Join& a, const SentencePieceEncoder::Join& b) {
  return a.score < b.score || (a.score == b.score && a.left > b.left);
}

}  // namespace

SentencePieceEncoder::SentencePieceEncoder(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {
  for (unsigned byte = 0; byte < 256; ++byte) {
    auto id = vocabulary.find(fmt::format("<0x{:02X}>", byte));
    if (!id) id = vocabulary.find_text_token(std::string(1, static_cast<char>(byte)));
    byte_tokens_[byte] = id.value_or(vocabulary.unknown().value_or(-1));
  }
  for (size_t id = 0; id < vocabulary.size(); ++id) {
    const std::string_view text = vocabulary.token_text(static_cast<TokenId>(id));
    for (size_t at = text.find(kSpaceMark, 1); at != std::string_view::npos;
         at = text.find(kSpaceMark, at + 1)) {
      before_mark_.set(static_cast<uint8_t>(text[at - 1]));
    }
  }
}

size_t SentencePieceEncoder::piece_end(std::string_view text) const {
  for (size_t at = text.find(kSpaceMark, 1); at != std::string_view::npos;
       at = text.find(kSpaceMark, at + 1)) {
    if (!before_mark_[static_cast<uint8_t>(text[at - 1])]) return at;
  }
  return text.size();
}

void SentencePieceEncoder::try_join(std::string_view piece, uint32_t left, uint32_t right,
                                    Scratch& scratch) const {
  if (left == kNone || right == kNone) return;
  const Symbol& first = scratch.symbols[left];
  const uint32_t size = first.size + scratch.symbols[right].size;
  const auto id = vocabulary_.find_text_token(piece.substr(first.begin, size));
  if (!id) return;
  scratch.queue.push_back({vocabulary_.score(*id), left, right, size});
  std::ranges::push_heap(scratch.queue, is_worse);
}

void SentencePieceEncoder::encode(std::string_view piece, Scratch& scratch, std::vector<TokenId>& out) const {
  auto& [symbols, queue] = scratch;
  symbols.clear();
  queue.clear();
  for (uint32_t at = 0; at < piece.size();) {
    const auto size = static_cast<uint32_t>(decode_character(piece.substr(at)).size_bytes);
    const auto index = static_cast<uint32_t>(symbols.size());
    symbols.push_back(
        {at, size, index == 0 ? kNone : index - 1, at + size == piece.size() ? kNone : index + 1});
    at += size;
  }
  for (uint32_t i = 0; i + 1 < symbols.size(); ++i) try_join(piece, i, i + 1, scratch);

  while (!queue.empty()) {
    std::ranges::pop_heap(queue, is_worse);
    const Join join = queue.back();
    queue.pop_back();
    Symbol& left = symbols[join.left];
    Symbol& right = symbols[join.right];
    // Out of date when one of them was joined to something else meanwhile.
    if (left.size == 0 || right.size == 0 || left.size + right.size != join.size) continue;
    left.size += right.size;
    right.size = 0;
    left.next = right.next;
    if (left.next != kNone) symbols[left.next].previous = join.left;
    try_join(piece, left.previous, join.left, scratch);
    try_join(piece, join.left, left.next, scratch);
  }

  for (uint32_t i = 0; i != kNone && i < symbols.size(); i = symbols[i].next) {
    const std::string_view text = piece.substr(symbols[i].begin, symbols[i].size);
    if (const auto id = vocabulary_.find_text_token(text)) {
      out.push_back(*id);
      continue;
    }
    for (const char byte : text) {
      if (const TokenId id = byte_tokens_[static_cast<uint8_t>(byte)]; id >= 0) out.push_back(id);
    }
  }
}

}  // namespace oxbow::text
