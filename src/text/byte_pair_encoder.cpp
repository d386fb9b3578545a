#include "text/byte_pair_encoder.h"

#include <algorithm>
#include <functional>

#include "text/unicode.h"

namespace oxbow::text {

namespace {

constexpr uint32_t kNoRank = UINT32_MAX;
constexpr uint32_t kNone = UINT32_MAX;
// Up to this many bytes, looking through all pairs for the best one beats a queue.
constexpr size_t kShortPieceBytes = 32;

constexpr bool is_printable_byte(unsigned byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || (byte >= 0xAE && byte <= 0xFF);
}

// Printable Latin-1 stands for itself; the others take U+0100 and up, in order.
constexpr std::array<char32_t, 256> kByteCharacters = [] {
  std::array<char32_t, 256> table{};
  char32_t next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) table[byte] = is_printable_byte(byte) ? byte : next++;
  return table;
}();

constexpr char32_t kAlphabetEnd = 0x144;

constexpr std::array<int16_t, kAlphabetEnd> kCharacterBytes = [] {
  std::array<int16_t, kAlphabetEnd> table{};
  for (auto& entry : table) entry = -1;
  for (unsigned byte = 0; byte < 256; ++byte) table[kByteCharacters[byte]] = static_cast<int16_t>(byte);
  return table;
}();

uint64_t hash_pair(uint32_t left, uint32_t right) {
  return mix64((uint64_t{left} << 32) | right);
}

}  // namespace

char32_t byte_character(uint8_t byte) {
  return kByteCharacters[byte];
}

std::string decode_byte_characters(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  while (!text.empty()) {
    const Character character = decode_character(text);
    if (character.valid && character.code_point < kAlphabetEnd &&
        kCharacterBytes[character.code_point] >= 0) {
      bytes.push_back(static_cast<char>(kCharacterBytes[character.code_point]));
    } else {
      bytes.append(text.substr(0, character.size_bytes));
    }
    text.remove_prefix(character.size_bytes);
  }
  return bytes;
}

BytePairEncoder::BytePairEncoder(const Vocabulary& vocabulary)
    : vocabulary_(vocabulary), by_pair_(vocabulary.merges().size()) {
  const auto merges = vocabulary.merges();
  const auto hash_of = [&](uint32_t at) { return hash_pair(merges[at].left, merges[at].right); };
  for (uint32_t at = 0; at < merges.size(); ++at) {
    // Of repeated merges the first counts.
    if (rank(merges[at].left, merges[at].right) == kNoRank) by_pair_.insert(hash_of(at), at, hash_of);
  }

  for (unsigned byte = 0; byte < 256; ++byte) {
    std::string character;
    append_utf8(character, kByteCharacters[byte]);
    // A user-defined token with this text means the character, not the byte.
    const auto id = vocabulary.find(character);
    const bool is_token =
        id && (vocabulary.kind(*id) == TokenKind::kNormal || vocabulary.kind(*id) == TokenKind::kByte);
    if (is_token) {
      byte_symbols_[byte] = static_cast<uint32_t>(*id);
      byte_tokens_[byte] = {*id};
    } else {
      // A symbol that merges know, or one beyond all that no merge has.
      const auto symbol = id ? std::nullopt : vocabulary.find_symbol(character);
      byte_symbols_[byte] = symbol.value_or(static_cast<uint32_t>(vocabulary.symbol_count() + byte));
    }
  }
  std::vector<TokenId> replacement;
  for (const char byte : kReplacementUtf8) {
    const auto& tokens = byte_tokens_[static_cast<uint8_t>(byte)];
    if (tokens.empty()) {
      replacement.clear();
      break;
    }
    replacement.push_back(tokens[0]);
  }
  if (replacement.empty() && vocabulary.unknown()) replacement.push_back(*vocabulary.unknown());
  for (auto& tokens : byte_tokens_) {
    if (tokens.empty()) tokens = replacement;
  }
}

uint32_t BytePairEncoder::rank(uint32_t left, uint32_t right) const {
  const auto merges = vocabulary_.merges();
  const auto found = by_pair_.find(hash_pair(left, right), [&](uint32_t at) {
    return merges[at].left == left && merges[at].right == right;
  });
  return found.value_or(kNoRank);
}

void BytePairEncoder::emit(uint32_t symbol, std::string_view bytes, std::vector<TokenId>& out) const {
  if (symbol < vocabulary_.size()) {
    out.push_back(static_cast<TokenId>(symbol));
    return;
  }
  for (const char byte : bytes) {
    const auto& tokens = byte_tokens_[static_cast<uint8_t>(byte)];
    out.insert(out.end(), tokens.begin(), tokens.end());
  }
}

void BytePairEncoder::encode(std::string_view piece, Scratch& scratch, std::vector<TokenId>& out) const {
  if (vocabulary_.pre_tokenizer().whole_pieces) {
    scratch.characters.clear();
    for (const char byte : piece.substr(0, vocabulary_.longest_text_bytes())) {
      append_utf8(scratch.characters, kByteCharacters[static_cast<uint8_t>(byte)]);
    }
    if (piece.size() <= vocabulary_.longest_text_bytes()) {
      if (const auto id = vocabulary_.find_text_token(scratch.characters)) {
        out.push_back(*id);
        return;
      }
    }
  }
  if (piece.size() <= kShortPieceBytes) {
    encode_short(piece, out);
  } else {
    encode_long(piece, scratch, out);
  }
}

void BytePairEncoder::encode_short(std::string_view piece, std::vector<TokenId>& out) const {
  // symbols[i] spans sizes[i] bytes; ranks[i] is that of the pair (i, i + 1).
  std::array<uint32_t, kShortPieceBytes> symbols, ranks;
  std::array<uint8_t, kShortPieceBytes> sizes;
  size_t count = piece.size();
  for (size_t i = 0; i < count; ++i) {
    symbols[i] = byte_symbols_[static_cast<uint8_t>(piece[i])];
    sizes[i] = 1;
  }
  for (size_t i = 0; i + 1 < count; ++i) ranks[i] = rank(symbols[i], symbols[i + 1]);
  while (count > 1) {
    const auto end = ranks.begin() + static_cast<ptrdiff_t>(count) - 1;
    const auto best = std::min_element(ranks.begin(), end);  // the leftmost of equals
    if (*best == kNoRank) break;
    const auto at = static_cast<size_t>(best - ranks.begin());
    symbols[at] = vocabulary_.merges()[*best].result;
    sizes[at] = static_cast<uint8_t>(sizes[at] + sizes[at + 1]);
    --count;
    for (size_t i = at + 1; i < count; ++i) {
      symbols[i] = symbols[i + 1];
      sizes[i] = sizes[i + 1];
    }
    for (size_t i = at + 1; i + 1 < count; ++i) ranks[i] = ranks[i + 1];
    if (at + 1 < count) ranks[at] = rank(symbols[at], symbols[at + 1]);
    if (at > 0) ranks[at - 1] = rank(symbols[at - 1], symbols[at]);
  }
  for (size_t i = 0; i < count; ++i) {
    emit(symbols[i], piece.substr(0, sizes[i]), out);
    piece.remove_prefix(sizes[i]);
  }
}

void BytePairEncoder::encode_long(std::string_view piece, Scratch& scratch, std::vector<TokenId>& out) const {
  // A list linked by positions: symbol i begins at byte i and ends where the next one begins. A symbol that
  // was joined to its left neighbour is kNone.
  const auto size = static_cast<uint32_t>(piece.size());
  std::vector<uint32_t>& symbols = scratch.symbols;
  std::vector<uint32_t>& next = scratch.next;
  std::vector<uint32_t>& previous = scratch.previous;
  std::vector<uint64_t>& queue = scratch.queue;
  symbols.resize(size);
  next.resize(size);
  previous.resize(size);
  queue.clear();

  // Entries are rank and position of the left symbol, so that the smallest is the best, leftmost first. An
  // entry is out of date when the two symbols are no longer the merge's.
  const auto merges = vocabulary_.merges();
  const auto push = [&](uint32_t left) {
    if (left == kNone || next[left] == size) return;
    const uint32_t found = rank(symbols[left], symbols[next[left]]);
    if (found == kNoRank) return;
    queue.push_back((uint64_t{found} << 32) | left);
  };
  for (uint32_t i = 0; i < size; ++i) {
    symbols[i] = byte_symbols_[static_cast<uint8_t>(piece[i])];
    next[i] = i + 1;
    previous[i] = i == 0 ? kNone : i - 1;
  }
  for (uint32_t i = 0; i + 1 < size; ++i) push(i);
  std::ranges::make_heap(queue, std::greater<>());

  while (!queue.empty()) {
    std::ranges::pop_heap(queue, std::greater<>());
    const uint64_t entry = queue.back();
    queue.pop_back();
    const auto left = static_cast<uint32_t>(entry);
    const Vocabulary::Merge& merge = merges[entry >> 32];
    const uint32_t right = next[left];
    if (symbols[left] != merge.left || right == size || symbols[right] != merge.right) continue;
    symbols[left] = merge.result;
    symbols[right] = kNone;
    next[left] = next[right];
    if (next[left] != size) previous[next[left]] = left;
    for (const uint32_t changed : {previous[left], left}) {
      const size_t before = queue.size();
      push(changed);
      if (queue.size() > before) std::ranges::push_heap(queue, std::greater<>());
    }
  }
  for (uint32_t i = 0; i < size; i = next[i]) emit(symbols[i], piece.substr(i, next[i] - i), out);
}

}  // namespace oxbow::text
