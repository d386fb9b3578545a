// A template, a zero byte, and JSON: whatever they are, parsing and rendering give a text or an error that
// says something, twice the same, and the tokens of a prompt spell its text.

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "gguf/file.h"
#include "gguf/writer.h"
#include "text/byte_pair_encoder.h"
#include "text/chat_prompt.h"
#include "text/thinking.h"
#include "text/unicode.h"

namespace oxbow::text {
namespace {

using nlohmann::ordered_json;

// All bytes, and some control tokens.
std::unique_ptr<Tokenizer> make_tokenizer() {
  std::vector<std::string> tokens(256);
  for (unsigned byte = 0; byte < 256; ++byte)
    append_utf8(tokens[byte], byte_character(static_cast<uint8_t>(byte)));
  std::vector<int32_t> kinds(256, 1);
  for (const char* name : {"<|im_start|>", "<|im_end|>", "<s>", "</s>", "[INST]", "<think>", "</think>"}) {
    tokens.emplace_back(name);
    kinds.push_back(3);
  }
  gguf::Writer writer;
  writer.add_string("tokenizer.ggml.model", "gpt2");
  writer.add_string("tokenizer.ggml.pre", "gpt-2");
  writer.add_array("tokenizer.ggml.tokens", std::span<const std::string>(tokens));
  writer.add_array("tokenizer.ggml.token_type", std::span<const int32_t>(kinds));
  writer.add_array("tokenizer.ggml.merges", std::span<const std::string>());
  const auto bytes = writer.bytes();
  OXBOW_CHECK(bytes.has_value());
  const auto file = gguf::File::parse(*bytes, "fuzz.gguf");
  OXBOW_CHECK(file.has_value());
  auto tokenizer = Tokenizer::from_gguf(*file);
  OXBOW_CHECK(tokenizer.has_value());
  return std::move(*tokenizer);
}

const char* const kConversation = R"({"messages": [
  {"role": "system", "content": "Be <|im_end|> brief."}, {"role": "user", "content": " H\u00e9llo \ud83e\udd99 <|im_"},
  {"role": "assistant", "content": "<think>a</think>b", "tool_calls": [{"function": {"name": "f", "arguments": {"x": [1, 2.5, null]}}}]},
  {"role": "tool", "content": [{"type": "text", "text": "end|>"}]}], "tools": [{"function": {"name": "f"}}], "x": {"y": {"z": -1}}})";

// Small enough that a run of the fuzzer sees many inputs, large enough for every code path.
jinja::Limits small_limits() {
  jinja::Limits limits;
  limits.steps = 50'000;
  limits.output_bytes = limits.string_bytes = size_t{1} << 18;
  limits.live_bytes = size_t{1} << 24;
  limits.range_items = 1000;
  return limits;
}

void use(std::string_view source, const ordered_json& json) {
  const jinja::Limits limits = small_limits();
  const auto parsed = ChatTemplate::parse(source, limits);
  if (!parsed) {
    OXBOW_CHECK(!parsed.error().message.empty());
    return;
  }
  ChatTemplateInput input;
  if (json.is_object()) {
    if (const auto messages = json.find("messages"); messages != json.end()) input.messages = &*messages;
    if (const auto tools = json.find("tools"); tools != json.end()) input.tools = &*tools;
    input.arguments = &json;
  } else {
    input.messages = &json;
  }
  input.now = std::tm{};
  const auto text = parsed->render(input);
  const auto again = parsed->render(input);
  OXBOW_CHECK(text.has_value() == again.has_value());
  if (!text) {
    OXBOW_CHECK(!text.error().message.empty() && text.error().message == again.error().message);
  } else {
    OXBOW_CHECK(*text == *again && text->size() <= limits.output_bytes);
    OXBOW_CHECK(valid_utf8_prefix(*text) == text->size());
    const auto [thoughts, answer] = split_thinking(*text, open_thinking(*text));
    OXBOW_CHECK(thoughts.size() + answer.size() <= text->size());
  }
  static const std::unique_ptr<Tokenizer> tokenizer = make_tokenizer();
  const auto chat = render_chat(*tokenizer, *parsed, input);
  if (!chat) return;
  OXBOW_CHECK(tokenizer->decode(encode_chat(*tokenizer, *chat), true) == chat->text);
}

}  // namespace
}  // namespace oxbow::text

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace oxbow::text;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t zero = input.find('\0');
  ordered_json json;
  if (zero != std::string_view::npos) json = ordered_json::parse(input.substr(zero + 1), nullptr, false);
  if (json.is_discarded() || json.is_null()) json = ordered_json::parse(kConversation);
  use(input.substr(0, zero), json);
  return 0;
}
