#pragma once
// A small vocabulary, and walks through grammars, for the fuzzers of grammars.

#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "gguf/file.h"
#include "gguf/writer.h"
#include "grammar/constraint.h"
#include "text/byte_pair_encoder.h"
#include "text/tokenizer.h"
#include "text/unicode.h"

namespace oxbow::grammar {

// All bytes, an end token (256), and some tokens of several bytes.
inline std::shared_ptr<const GrammarVocabulary> small_vocabulary() {
  static const auto made = [] {
    std::vector<std::string> tokens;
    const auto add = [&](std::string_view bytes) {
      std::string& token = tokens.emplace_back();
      for (const char byte : bytes)
        text::append_utf8(token, text::byte_character(static_cast<uint8_t>(byte)));
    };
    for (unsigned byte = 0; byte < 256; ++byte) add(std::string(1, static_cast<char>(byte)));
    tokens.emplace_back("<|end|>");
    for (const char* text :
         {"{\"", "\":", "\",", "\"}", "}}", "[[", "ab", "abc", "12", "true", "\\u00", "aaaaaaaa"})
      add(text);
    std::vector<int32_t> kinds(tokens.size(), 1);
    kinds[256] = 3;
    gguf::Writer writer;
    writer.add_string("tokenizer.ggml.model", "gpt2");
    writer.add_string("tokenizer.ggml.pre", "gpt-2");
    writer.add_array("tokenizer.ggml.tokens", std::span<const std::string>(tokens));
    writer.add_array("tokenizer.ggml.token_type", std::span<const int32_t>(kinds));
    writer.add_array("tokenizer.ggml.merges", std::span<const std::string>());
    writer.add_uint32("tokenizer.ggml.eos_token_id", 256);
    const auto bytes = writer.bytes();
    OXBOW_CHECK(bytes.has_value());
    const auto file = gguf::File::parse(*bytes, "fuzz.gguf");
    OXBOW_CHECK(file.has_value());
    auto tokenizer = text::Tokenizer::from_gguf(*file);
    OXBOW_CHECK(tokenizer.has_value());
    static const std::unique_ptr<text::Tokenizer> kept = std::move(*tokenizer);
    return std::make_shared<const GrammarVocabulary>(*kept);
  }();
  return made;
}

// Follows masks for a few tokens: there is always a way on, and accept() takes what mask() allows. The text.
inline std::string walk(const Grammar::Pointer& grammar, uint64_t seed, int steps) {
  Constraint constraint(grammar);
  std::string text;
  for (int step = 0; step < steps && !constraint.is_complete(); ++step) {
    const TokenMask& mask = constraint.mask();
    const size_t count = mask.count();
    OXBOW_CHECK(count > 0);
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    size_t skip = (seed >> 33) % count;
    TokenId pick = 0;
    for (; !mask.allows(pick) || skip-- > 0; ++pick) {
    }
    const auto accepted = constraint.accept(pick);
    OXBOW_CHECK(accepted.has_value());
    text += grammar->vocabulary().bytes(pick);
  }
  return text;
}

}  // namespace oxbow::grammar
