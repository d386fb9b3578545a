#include "text/vocabulary.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/log.h"

namespace oxbow::text {

namespace {

constexpr std::string_view kPrefix = "tokenizer.ggml.";

std::string key(std::string_view name) {
  return std::string(kPrefix) + std::string(name);
}

// Texts that mark the end of an answer in the chat formats in use.
constexpr std::array<std::string_view, 22> kEndTexts = {
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|return|>",
    "<|call|>",
    "<|calls|>",
    "<|flush|>",
    "<end_of_turn>",
    "<end_of_utterance>",
    "</s>",
    "<eos>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "[EOS]",
    "<turn|>",
    "[e~[",
    "<|end_of_turn|>",
    "<\xEF\xBD\x9C"
    "end\xE2\x96\x81of\xE2\x96\x81sentence\xEF\xBD\x9C>",
};

// Texts that no one writes by chance. Some files list them as normal or user-defined tokens; taken as such, a
// prompt's content could end its own turn.
bool is_control_text(std::string_view text) {
  constexpr std::array<std::string_view, 10> kTexts = {
      "<|im_start|>",    "<|im_end|>",          "<|eot_id|>",        "<|eom_id|>",      "<|endoftext|>",
      "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<start_of_turn>", "<end_of_turn>",
  };
  return std::ranges::find(kTexts, text) != kTexts.end();
}

}  // namespace

Result<Vocabulary> Vocabulary::from_gguf(const gguf::File& file) {
  OXBOW_ASSIGN(const auto model, file.find_string(key("model")));
  if (!model) return fail(ErrorKind::kInvalidInput, "{}: the file has no {}", file.path(), key("model"));
  OXBOW_ASSIGN(const auto pre, file.find_string(key("pre")));

  Vocabulary vocabulary;
  if (*model == "gpt2") {
    vocabulary.model_ = TokenizerModel::kByteLevelBpe;
  } else if (*model == "llama") {
    vocabulary.model_ = TokenizerModel::kSentencePieceBpe;
  } else {
    return fail(ErrorKind::kUnsupported,
                "{}: {} is \"{}\"; this build has gpt2 (byte-level BPE) and llama (SentencePiece BPE)",
                file.path(), key("model"), *model);
  }
  const bool byte_level = vocabulary.model_ == TokenizerModel::kByteLevelBpe;
  if (byte_level) vocabulary.choose_pre_tokenizer(file, pre.value_or(""));

  OXBOW_TRY(vocabulary.read_tokens(file));
  OXBOW_TRY(vocabulary.read_kinds(file));
  vocabulary.promote_control_texts();
  if (byte_level) {
    OXBOW_TRY(vocabulary.read_merges(file));
  } else {
    OXBOW_TRY(vocabulary.read_scores(file));
  }
  OXBOW_TRY(vocabulary.read_special_ids(file));
  return vocabulary;
}

void Vocabulary::choose_pre_tokenizer(const gguf::File& file, std::string_view name) {
  if (const PreTokenizerInfo* known = find_pre_tokenizer(name)) {
    pre_tokenizer_ = known;
    return;
  }
  const std::string_view used = default_pre_tokenizer().name;
  if (name.empty()) {
    log(LogLevel::kWarning, "text",
        "{}: no {}; text is split as \"{}\" does, which may not be what the model learnt from", file.path(),
        key("pre"), used);
  } else {
    log(LogLevel::kWarning, "text",
        "{}: pre-tokenizer \"{}\" is unknown; text is split as \"{}\" does, which may not be what the model "
        "learnt from",
        file.path(), name, used);
  }
}

Status Vocabulary::read_tokens(const gguf::File& file) {
  OXBOW_ASSIGN(const auto* texts, file.find_string_array(key("tokens")));
  if (texts == nullptr || texts->empty()) {
    return fail(ErrorKind::kInvalidInput, "{}: the file has no {}", file.path(), key("tokens"));
  }
  constexpr size_t kMostTokens = std::numeric_limits<TokenId>::max();
  if (texts->size() > kMostTokens) {
    return fail(ErrorKind::kInvalidInput, "{}: {} has {} entries, at most {} are possible", file.path(),
                key("tokens"), texts->size(), kMostTokens);
  }
  size_t total = 0;
  for (const std::string_view text : *texts) total += text.size();
  texts_.reserve(total);
  ends_.reserve(texts->size());
  by_text_ = FlatIndex(texts->size());
  for (size_t i = 0; i < texts->size(); ++i) {
    const std::string_view text = (*texts)[i];
    if (!text.empty()) {
      if (const auto other = find(text)) {
        return fail(ErrorKind::kInvalidInput, "{}: {}[{}] has the text of entry {} (\"{}\")", file.path(),
                    key("tokens"), i, *other, text.substr(0, 80));
      }
      by_text_.insert(hash_bytes(text), static_cast<uint32_t>(i),
                      [this](uint32_t id) { return hash_bytes(symbol_text(id)); });
    }
    texts_.append(text);
    ends_.push_back(texts_.size());
    longest_text_bytes_ = std::max(longest_text_bytes_, text.size());
  }
  kinds_.assign(texts->size(), TokenKind::kNormal);
  return {};
}

Status Vocabulary::read_kinds(const gguf::File& file) {
  OXBOW_ASSIGN(const auto kinds, file.find_int_array(key("token_type")));
  if (!kinds) return {};
  if (kinds->size() != size()) {
    return fail(ErrorKind::kInvalidInput, "{}: {} has {} entries for {} tokens", file.path(),
                key("token_type"), kinds->size(), size());
  }
  for (size_t i = 0; i < size(); ++i) {
    const int64_t kind = (*kinds)[i];
    if (kind < 0 || kind > 6) {
      return fail(ErrorKind::kInvalidInput, "{}: {}[{}] is {}, expected 0 to 6", file.path(),
                  key("token_type"), i, kind);
    }
    if (kind > 0) kinds_[i] = static_cast<TokenKind>(kind);  // 0: not stated
  }
  return {};
}

Status Vocabulary::read_scores(const gguf::File& file) {
  OXBOW_ASSIGN(auto scores, file.find_float_array(key("scores")));
  if (!scores) return fail(ErrorKind::kInvalidInput, "{}: the file has no {}", file.path(), key("scores"));
  if (scores->size() != size()) {
    return fail(ErrorKind::kInvalidInput, "{}: {} has {} entries for {} tokens", file.path(), key("scores"),
                scores->size(), size());
  }
  for (size_t i = 0; i < size(); ++i) {
    if (std::isnan((*scores)[i])) {
      return fail(ErrorKind::kInvalidInput, "{}: {}[{}] is not a number", file.path(), key("scores"), i);
    }
  }
  scores_ = std::move(*scores);
  return {};
}

Status Vocabulary::read_merges(const gguf::File& file) {
  OXBOW_ASSIGN(const auto* merges, file.find_string_array(key("merges")));
  if (merges == nullptr)
    return fail(ErrorKind::kInvalidInput, "{}: the file has no {}", file.path(), key("merges"));
  if (merges->size() >= UINT32_MAX / 4) {
    return fail(ErrorKind::kInvalidInput, "{}: {} has {} entries, which is too many", file.path(),
                key("merges"), merges->size());
  }
  merges_.reserve(merges->size());
  std::string joined;
  for (size_t i = 0; i < merges->size(); ++i) {
    const std::string_view text = (*merges)[i];
    // The first character of the left side may be the space itself.
    const size_t space = text.find(' ', 1);
    if (space == std::string_view::npos || space + 1 == text.size()) {
      return fail(ErrorKind::kInvalidInput,
                  "{}: {}[{}] is \"{}\", expected two texts with a space between them", file.path(),
                  key("merges"), i, text.substr(0, 80));
    }
    const std::string_view left = text.substr(0, space);
    const std::string_view right = text.substr(space + 1);
    joined.assign(left).append(right);
    const uint32_t left_symbol = intern(left);
    const uint32_t right_symbol = intern(right);
    merges_.push_back({left_symbol, right_symbol, intern(joined)});
  }
  return {};
}

Status Vocabulary::read_special_ids(const gguf::File& file) {
  const auto read = [&](std::string_view name,
                        std::optional<TokenId> preset) -> Result<std::optional<TokenId>> {
    if (preset && !contains(*preset)) preset.reset();
    OXBOW_ASSIGN(const auto id, file.find_int(key(name)));
    if (!id) return preset;
    if (*id >= 0 && static_cast<uint64_t>(*id) < size()) return static_cast<TokenId>(*id);
    // -1, in 32 bits of either signedness, is a way to say "none".
    if (*id != -1 && *id != UINT32_MAX) {
      log(LogLevel::kWarning, "text", "{}: {} is {}, but there are only {} tokens; it is ignored",
          file.path(), key(name), *id, size());
    }
    return std::optional<TokenId>();
  };
  // The usual ids of SentencePiece files that do not state them.
  const bool sentence_piece = model_ == TokenizerModel::kSentencePieceBpe;
  const auto preset = [&](TokenId id) { return sentence_piece ? std::optional(id) : std::nullopt; };
  OXBOW_ASSIGN(bos_, read("bos_token_id", preset(1)));
  OXBOW_ASSIGN(eos_, read("eos_token_id", preset(2)));
  OXBOW_ASSIGN(unknown_, read("unknown_token_id", preset(0)));
  OXBOW_ASSIGN(eot_, read("eot_token_id", std::nullopt));
  OXBOW_ASSIGN(padding_, read("padding_token_id", std::nullopt));
  OXBOW_ASSIGN(const auto eom, read("eom_token_id", std::nullopt));

  OXBOW_ASSIGN(const auto add_bos, file.find_bool(key("add_bos_token")));
  OXBOW_ASSIGN(const auto add_eos, file.find_bool(key("add_eos_token")));
  OXBOW_ASSIGN(const auto add_space_prefix, file.find_bool(key("add_space_prefix")));
  if (add_bos.value_or(false) && !bos_) {
    return fail(ErrorKind::kInvalidInput, "{}: {} is true, but there is no {}", file.path(),
                key("add_bos_token"), key("bos_token_id"));
  }
  if (add_eos.value_or(false) && !eos_) {
    return fail(ErrorKind::kInvalidInput, "{}: {} is true, but there is no {}", file.path(),
                key("add_eos_token"), key("eos_token_id"));
  }
  add_bos_ = add_bos.value_or(sentence_piece || pre_tokenizer_->add_bos) && bos_.has_value();
  add_eos_ = add_eos.value_or(false);
  add_space_prefix_ = sentence_piece && add_space_prefix.value_or(true);
  collect_end_of_generation(eom);
  return {};
}

void Vocabulary::promote_control_texts() {
  for (size_t i = 0; i < size(); ++i) {
    if (kinds_[i] != TokenKind::kNormal && kinds_[i] != TokenKind::kUserDefined) continue;
    if (is_control_text(symbol_text(static_cast<uint32_t>(i)))) kinds_[i] = TokenKind::kControl;
  }
}

void Vocabulary::collect_end_of_generation(std::optional<TokenId> eom) {
  for (const auto& id : {eos_, eot_, eom}) {
    if (id) end_of_generation_.push_back(*id);
  }
  const auto control = [&](std::string_view text) {
    const auto id = find(text);
    return id && kind(*id) == TokenKind::kControl ? id : std::nullopt;
  };
  // Where an answer is made of several messages, <|end|> closes one of them and <|return|> or <|flush|> the
  // answer.
  const bool end_is_inner =
      (control("<|return|>") && control("<|call|>")) || (control("<|flush|>") && control("<|calls|>"));
  for (const std::string_view text : kEndTexts) {
    if (text == "<|end|>" && end_is_inner) continue;
    const auto id = control(text);
    if (!id) continue;
    end_of_generation_.push_back(*id);
    if (!eot_ && (text == "<|im_end|>" || text == "<|eot_id|>" || text == "<end_of_turn>")) eot_ = id;
  }
  std::ranges::sort(end_of_generation_);
  end_of_generation_.erase(std::unique(end_of_generation_.begin(), end_of_generation_.end()),
                           end_of_generation_.end());
}

std::string_view Vocabulary::symbol_text(uint32_t symbol) const {
  const size_t begin = symbol == 0 ? 0 : ends_[symbol - 1];
  return std::string_view(texts_).substr(begin, ends_[symbol] - begin);
}

std::string_view Vocabulary::token_text(TokenId id) const {
  return contains(id) ? symbol_text(static_cast<uint32_t>(id)) : std::string_view();
}

std::optional<TokenId> Vocabulary::find(std::string_view text) const {
  const auto id =
      by_text_.find(hash_bytes(text), [&](uint32_t candidate) { return symbol_text(candidate) == text; });
  return id ? std::optional(static_cast<TokenId>(*id)) : std::nullopt;
}

std::optional<TokenId> Vocabulary::find_text_token(std::string_view text) const {
  if (text.size() > longest_text_bytes_) return std::nullopt;
  const auto id = find(text);
  if (!id) return std::nullopt;
  const TokenKind found = kinds_[static_cast<size_t>(*id)];
  return found == TokenKind::kNormal || found == TokenKind::kUserDefined ? id : std::nullopt;
}

std::optional<uint32_t> Vocabulary::find_symbol(std::string_view text) const {
  if (const auto id = find_text_token(text)) return static_cast<uint32_t>(*id);
  return extra_by_text_.find(hash_bytes(text),
                             [&](uint32_t candidate) { return symbol_text(candidate) == text; });
}

uint32_t Vocabulary::intern(std::string_view text) {
  if (const auto known = find_symbol(text)) return *known;
  const auto symbol = static_cast<uint32_t>(ends_.size());
  texts_.append(text);
  ends_.push_back(texts_.size());
  extra_by_text_.insert(hash_bytes(text), symbol,
                        [this](uint32_t other) { return hash_bytes(symbol_text(other)); });
  return symbol;
}

bool Vocabulary::is_end_of_generation(TokenId id) const {
  return std::ranges::binary_search(end_of_generation_, id);
}

}  // namespace oxbow::text
