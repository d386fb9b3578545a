// Any text through good vocabularies must come back to the byte; any vocabulary, however hostile, must be
// refused or must encode and decode any text without harm. The first byte of the input chooses between the
// two.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "gguf/file.h"
#include "gguf/writer.h"
#include "text/byte_pair_encoder.h"
#include "text/chat_prompt.h"
#include "text/stream_decoder.h"
#include "text/tokenizer.h"
#include "text/unicode.h"

namespace oxbow::text {
namespace {

std::unique_ptr<Tokenizer> load(const gguf::Writer& writer) {
  const auto bytes = writer.bytes();
  if (!bytes) return nullptr;
  const auto file = gguf::File::parse(*bytes, "fuzz.gguf");
  if (!file) return nullptr;
  auto tokenizer = Tokenizer::from_gguf(*file);
  return tokenizer ? std::move(*tokenizer) : nullptr;
}

// Takes the input apart, from the front.
class Input {
 public:
  explicit Input(std::string_view bytes) : rest_(bytes) {}
  uint8_t byte() {
    if (rest_.empty()) return 0;
    const char first = rest_.front();
    rest_.remove_prefix(1);
    return static_cast<uint8_t>(first);
  }
  std::string_view text(size_t longest) {
    const std::string_view taken = rest_.substr(0, byte() % (longest + 1));
    rest_.remove_prefix(std::min(taken.size(), rest_.size()));
    return taken;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

void check_stream(const Tokenizer& tokenizer, const std::vector<TokenId>& tokens) {
  StreamDecoder stream(tokenizer, true);
  std::string streamed;
  for (const TokenId id : tokens) {
    const std::string part = stream.push(id);
    OXBOW_CHECK(valid_utf8_prefix(part) == part.size());
    OXBOW_CHECK(stream.held_bytes() <= 3);
    streamed += part;
  }
  streamed += stream.flush();
  std::string bytes, whole;
  for (const TokenId id : tokens) bytes += tokenizer.token_bytes(id, true);
  Utf8Stream at_once;
  at_once.push(bytes, whole);
  at_once.flush(whole);
  OXBOW_CHECK(streamed == whole);
}

void use(const Tokenizer& tokenizer, std::string_view text) {
  for (const bool parse_special : {false, true}) {
    const auto tokens = tokenizer.encode(text, {.add_special = true, .parse_special = parse_special});
    for (const TokenId id : tokens) OXBOW_CHECK(tokenizer.vocabulary().contains(id));
    (void)tokenizer.decode(tokens, parse_special);
    check_stream(tokenizer, tokens);
  }
  (void)encode_chat(tokenizer, {std::string(text), {text.size() / 2}});
}

std::unique_ptr<Tokenizer> make_byte_level(std::string_view pre) {
  gguf::Writer writer;
  std::vector<std::string> tokens(256), merges;
  for (unsigned byte = 0; byte < 256; ++byte)
    append_utf8(tokens[byte], byte_character(static_cast<uint8_t>(byte)));
  for (const std::string_view merge :
       {"a a", "aa aa", "t h", "th e", "\xC4\xA0 the", "\xC4\xA0 \xC4\xA0", "1 1", "\xC3\x83 \xC2\xA9"}) {
    merges.emplace_back(merge);
    const size_t space = merge.find(' ', 1);
    tokens.push_back(std::string(merge.substr(0, space)).append(merge.substr(space + 1)));
  }
  std::vector<int32_t> kinds(tokens.size(), 1);
  for (const std::string_view special : {"<|im_start|>", "<|im_end|>"}) {
    tokens.emplace_back(special);
    kinds.push_back(3);
  }
  writer.add_string("tokenizer.ggml.model", "gpt2");
  writer.add_string("tokenizer.ggml.pre", pre);
  writer.add_array("tokenizer.ggml.tokens", std::span<const std::string>(tokens));
  writer.add_array("tokenizer.ggml.token_type", std::span<const int32_t>(kinds));
  writer.add_array("tokenizer.ggml.merges", std::span<const std::string>(merges));
  return load(writer);
}

const Tokenizer& byte_level(size_t number) {
  static const std::vector<std::unique_ptr<Tokenizer>> all = [] {
    std::vector<std::unique_ptr<Tokenizer>> made;
    for (const PreTokenizerInfo& info : all_pre_tokenizers()) made.push_back(make_byte_level(info.name));
    return made;
  }();
  return *all[number % all.size()];
}

const Tokenizer& sentence_piece() {
  static const std::unique_ptr<Tokenizer> made = [] {
    gguf::Writer writer;
    std::vector<std::string> tokens = {"<unk>", "<s>", "</s>"};
    std::vector<int32_t> kinds = {2, 3, 3};
    for (unsigned byte = 0; byte < 256; ++byte) {
      tokens.push_back(fmt::format("<0x{:02X}>", byte));
      kinds.push_back(6);
    }
    for (const std::string_view text :
         {"\xE2\x96\x81", "t", "h", "e", "a", "th", "the", "\xE2\x96\x81the", "aa", "aaaa",
          "\xE2\x96\x81\xE2\x96\x81", "a\xE2\x96\x81", "\xC3\xA9"}) {
      tokens.emplace_back(text);
      kinds.push_back(1);
    }
    std::vector<float> scores(tokens.size());
    for (size_t i = 0; i < scores.size(); ++i) scores[i] = -static_cast<float>(i);
    writer.add_string("tokenizer.ggml.model", "llama");
    writer.add_array("tokenizer.ggml.tokens", std::span<const std::string>(tokens));
    writer.add_array("tokenizer.ggml.token_type", std::span<const int32_t>(kinds));
    writer.add_array("tokenizer.ggml.scores", std::span<const float>(scores));
    return load(writer);
  }();
  return *made;
}

void round_trip(std::string_view input) {
  Input in(input);
  const uint8_t number = in.byte();
  const Tokenizer& tokenizer = number == 255 ? sentence_piece() : byte_level(number);
  const auto tokens = tokenizer.encode(in.rest(), {.add_special = false, .parse_special = false});
  // SentencePiece writes a space and U+2581 alike.
  const bool lossless = number != 255 || in.rest().find(kSpaceMark) == std::string_view::npos;
  if (lossless) OXBOW_CHECK(tokenizer.decode(tokens) == in.rest());
  use(tokenizer, in.rest());
}

void hostile_vocabulary(std::string_view input) {
  Input in(input);
  const bool byte_level = in.byte() % 2 == 0;
  const size_t count = in.byte() % 64;
  std::vector<std::string> tokens, merges;
  std::vector<int32_t> kinds;
  std::vector<float> scores;
  for (size_t i = 0; i < count; ++i) {
    kinds.push_back(in.byte() % 8);
    scores.push_back(static_cast<float>(in.byte()));
    tokens.emplace_back(in.text(12));
    if (i % 2 == 0) merges.emplace_back(in.text(12));
  }
  gguf::Writer writer;
  writer.add_string("tokenizer.ggml.model", byte_level ? "gpt2" : "llama");
  writer.add_string("tokenizer.ggml.pre", all_pre_tokenizers()[in.byte() % all_pre_tokenizers().size()].name);
  writer.add_array("tokenizer.ggml.tokens", std::span<const std::string>(tokens));
  writer.add_array("tokenizer.ggml.token_type", std::span<const int32_t>(kinds));
  writer.add_array("tokenizer.ggml.scores", std::span<const float>(scores));
  writer.add_array("tokenizer.ggml.merges", std::span<const std::string>(merges));
  for (const char* name : {"bos", "eos", "eot", "unknown"}) {
    if (const uint8_t id = in.byte())
      writer.add_int32(fmt::format("tokenizer.ggml.{}_token_id", name), id - 2);
  }
  writer.add_bool("tokenizer.ggml.add_bos_token", in.byte() % 2 == 0);
  if (const auto tokenizer = load(writer)) use(*tokenizer, in.rest());
}

}  // namespace
}  // namespace oxbow::text

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 0) {
    oxbow::text::round_trip(input);
  } else {
    oxbow::text::hostile_vocabulary(input);
  }
  return 0;
}
