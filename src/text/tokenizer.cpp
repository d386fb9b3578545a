#include "text/tokenizer.h"

#include <algorithm>
#include <charconv>
#include <deque>
#include <optional>

#include "base/log.h"
#include "text/piece_cache.h"

namespace oxbow::text {

namespace {

// "<0xAB>" to its byte; nothing for any other text.
std::optional<char> parse_byte_token(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return std::nullopt;
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data() + 3, text.data() + 5, value, 16);
  if (error != std::errc() || end != text.data() + 5) return std::nullopt;
  return static_cast<char>(value);
}

void append_replacing(std::string& out, std::string_view text, std::string_view from, std::string_view to) {
  for (;;) {
    const size_t at = text.find(from);
    out.append(text.substr(0, at));
    if (at == std::string_view::npos) return;
    out.append(to);
    text.remove_prefix(at + from.size());
  }
}

bool is_hidden(TokenKind kind) {
  return kind == TokenKind::kControl || kind == TokenKind::kUnknown || kind == TokenKind::kUnused;
}

}  // namespace

// One encode call: the working memory that its pieces share.
class Tokenizer::Session {
 public:
  Session(const Tokenizer& tokenizer, size_t text_bytes, std::vector<TokenId>& out)
      : tokenizer_(tokenizer), cache_(text_bytes), out_(out) {}

  // Text without special tokens, all that stands between two of them or the ends.
  void add_text(std::string_view text) {
    if (tokenizer_.byte_pair_) {
      add_byte_level(text);
    } else {
      add_sentence_piece(text);
    }
  }

 private:
  void add_byte_level(std::string_view text) {
    while (!text.empty()) {
      const std::string_view part = text.substr(0, BytePairEncoder::kLongestPieceBytes);
      text.remove_prefix(part.size());
      if (!tokenizer_.pre_tokenizer_->split(part, regex_, ends_)) {
        log(LogLevel::kWarning, "text",
            "a pre-tokenizer pattern gave up on a text of {} bytes; a part of it was left whole",
            part.size());
      }
      size_t begin = 0;
      for (const size_t end : ends_) {
        const std::string_view piece = part.substr(begin, end - begin);
        cache_.encode(piece, out_, [&] { tokenizer_.byte_pair_->encode(piece, byte_pair_, out_); });
        begin = end;
      }
    }
  }

  void add_sentence_piece(std::string_view text) {
    // The cache refers to pieces of earlier texts, so they are all kept.
    std::string& marked = marked_.emplace_back();
    marked.reserve(text.size() + text.size() / 2 + kSpaceMark.size());
    if (tokenizer_.vocabulary_->add_space_prefix()) marked.append(kSpaceMark);
    append_replacing(marked, text, " ", kSpaceMark);
    std::string_view rest = marked;
    while (!rest.empty()) {
      const size_t end =
          std::min(tokenizer_.sentence_piece_->piece_end(rest), SentencePieceEncoder::kLongestPieceBytes);
      const std::string_view piece = rest.substr(0, end);
      cache_.encode(piece, out_, [&] { tokenizer_.sentence_piece_->encode(piece, sentence_piece_, out_); });
      rest.remove_prefix(end);
    }
  }

  const Tokenizer& tokenizer_;
  PieceCache cache_;
  std::vector<TokenId>& out_;
  RegexScratch regex_;
  std::vector<size_t> ends_;
  BytePairEncoder::Scratch byte_pair_;
  SentencePieceEncoder::Scratch sentence_piece_;
  std::deque<std::string> marked_;
};

Tokenizer::Tokenizer(std::shared_ptr<const Vocabulary> vocabulary) : vocabulary_(std::move(vocabulary)) {}

Result<std::unique_ptr<Tokenizer>> Tokenizer::from_gguf(const gguf::File& file) {
  OXBOW_ASSIGN(Vocabulary vocabulary, Vocabulary::from_gguf(file));
  return create(std::make_shared<const Vocabulary>(std::move(vocabulary)));
}

Result<std::unique_ptr<Tokenizer>> Tokenizer::create(std::shared_ptr<const Vocabulary> vocabulary) {
  std::unique_ptr<Tokenizer> tokenizer(new Tokenizer(std::move(vocabulary)));
  OXBOW_TRY(tokenizer->initialize());
  return tokenizer;
}

Status Tokenizer::initialize() {
  if (vocabulary_->model() == TokenizerModel::kByteLevelBpe) {
    OXBOW_ASSIGN(PreTokenizer pre_tokenizer, PreTokenizer::create(vocabulary_->pre_tokenizer()));
    pre_tokenizer_ = std::make_unique<PreTokenizer>(std::move(pre_tokenizer));
    byte_pair_ = std::make_unique<BytePairEncoder>(*vocabulary_);
  } else {
    sentence_piece_ = std::make_unique<SentencePieceEncoder>(*vocabulary_);
  }
  all_special_ = std::make_unique<SpecialTokens>(*vocabulary_, true);
  user_defined_ = std::make_unique<SpecialTokens>(*vocabulary_, false);
  store_token_bytes();
  return {};
}

void Tokenizer::store_token_bytes() {
  token_ends_.reserve(vocabulary_->size());
  for (size_t i = 0; i < vocabulary_->size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    const std::string_view text = vocabulary_->token_text(id);
    const TokenKind kind = vocabulary_->kind(id);
    if (const auto byte = kind == TokenKind::kByte ? parse_byte_token(text) : std::nullopt) {
      token_bytes_.push_back(*byte);
    } else if (kind != TokenKind::kNormal && kind != TokenKind::kByte) {
      token_bytes_.append(text);
    } else if (byte_pair_) {
      token_bytes_.append(decode_byte_characters(text));
    } else {
      append_replacing(token_bytes_, text, kSpaceMark, " ");
    }
    token_ends_.push_back(token_bytes_.size());
  }
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, Options options) const {
  std::vector<TokenId> tokens;
  encode_to(text, options, tokens);
  return tokens;
}

std::optional<SpecialTokens::Found> Tokenizer::find_control(std::string_view text, size_t from) const {
  for (;; ++from) {
    const auto found = all_special_->find(text, from);
    if (!found || vocabulary_->kind(found->id) != TokenKind::kUserDefined) return found;
    from = found->begin;
  }
}

std::optional<SpecialTokens::Found> Tokenizer::find_special(std::string_view text, size_t from,
                                                            bool with_control,
                                                            std::span<const size_t> breaks) const {
  if (!with_control) return user_defined_->find(text, from);
  for (;; ++from) {
    const auto found = all_special_->find(text, from);
    if (!found || vocabulary_->kind(found->id) == TokenKind::kUserDefined) return found;
    from = found->begin;
    const auto next = std::ranges::upper_bound(breaks, from);
    if (next == breaks.end() || *next >= from + found->size) return found;
    const auto shorter = user_defined_->find(text, from);
    if (shorter && shorter->begin == from) return shorter;
  }
}

void Tokenizer::encode_to(std::string_view text, Options options, std::vector<TokenId>& out) const {
  encode_to(text, options, {}, out);
}

void Tokenizer::encode_to(std::string_view text, Options options, std::span<const size_t> breaks,
                          std::vector<TokenId>& out) const {
  if (options.add_special && vocabulary_->add_bos()) out.push_back(*vocabulary_->bos());
  Session session(*this, text.size(), out);
  for (size_t at = 0; at < text.size();) {
    const auto found = find_special(text, at, options.parse_special, breaks);
    const size_t end = found ? found->begin : text.size();
    if (end > at) session.add_text(text.substr(at, end - at));
    if (!found) break;
    out.push_back(found->id);
    at = end + found->size;
  }
  if (options.add_special && vocabulary_->add_eos()) out.push_back(*vocabulary_->eos());
}

std::string_view Tokenizer::token_bytes(TokenId id, bool show_special) const {
  if (!vocabulary_->contains(id)) return {};
  if (!show_special && is_hidden(vocabulary_->kind(id))) return {};
  const auto index = static_cast<size_t>(id);
  const size_t begin = index == 0 ? 0 : token_ends_[index - 1];
  return std::string_view(token_bytes_).substr(begin, token_ends_[index] - begin);
}

std::string Tokenizer::decode(std::span<const TokenId> tokens, bool show_special) const {
  std::string bytes;
  bool drop_space = vocabulary_->add_space_prefix();
  for (const TokenId id : tokens) {
    std::string_view piece = token_bytes(id, show_special);
    if (drop_space && !piece.empty() && !is_hidden(vocabulary_->kind(id))) {
      if (piece.front() == ' ') piece.remove_prefix(1);
      drop_space = false;
    }
    bytes.append(piece);
  }
  return bytes;
}

}  // namespace oxbow::text
