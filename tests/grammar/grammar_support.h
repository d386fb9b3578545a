#pragma once
// Vocabularies, and ways through grammars, for tests.

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "gguf/file.h"
#include "gguf/writer.h"
#include "grammar/constraint.h"
#include "text/byte_pair_encoder.h"
#include "text/tokenizer.h"
#include "text/unicode.h"

namespace oxbow::grammar::testing {

using Json = nlohmann::ordered_json;

struct Model {
  std::unique_ptr<text::Tokenizer> tokenizer;
  std::shared_ptr<const GrammarVocabulary> vocabulary;
};

// All bytes, the end token <|end|> (256), the control token <|mark|> (257), and tokens of several bytes, some
// of which end or begin within a character.
inline const Model& model() {
  static const Model made = [] {
    std::vector<std::string> tokens;
    const auto add = [&](std::string_view bytes) {
      std::string& token = tokens.emplace_back();
      for (const char byte : bytes)
        text::append_utf8(token, text::byte_character(static_cast<uint8_t>(byte)));
    };
    for (unsigned byte = 0; byte < 256; ++byte) add(std::string(1, static_cast<char>(byte)));
    tokens.emplace_back("<|end|>");
    tokens.emplace_back("<|mark|>");
    for (const char* text :
         {"{\"",      "\":",      "\": ",  "\",",         "\", \"",      "\"}",    "\"]",       "}}",
          "]]",       "[[",       "[{",    "},",          ", ",          "  ",     "\n  ",      "\n",
          "tr",       "true",     "false", "null",        "12",          "000",    "1.5",       "e+",
          "-1",       "ab",       "abc",   "a\"",         "a\",\"",      "\\n",    "\\u00",     "\\\"",
          "\xC3\xA9", "\xE4\xBD", "\xA0",  "\xA9\"",      "n\xC3",       "name",   "\"name\":", "id",
          "value",    "2024-",    "x",     "<tool_call>", "</think>",    "k>\n",   "0,",        "1]",
          "\"\"",     "{}",       "[]",    "{\"a\":",     "hello world", "\": \"", "b\":"})
      if (std::string_view(text).size() > 1) add(text);
    std::vector<int32_t> kinds(tokens.size(), 1);
    kinds[256] = kinds[257] = 3;
    gguf::Writer writer;
    writer.add_string("tokenizer.ggml.model", "gpt2");
    writer.add_string("tokenizer.ggml.pre", "gpt-2");
    writer.add_array("tokenizer.ggml.tokens", std::span<const std::string>(tokens));
    writer.add_array("tokenizer.ggml.token_type", std::span<const int32_t>(kinds));
    writer.add_array("tokenizer.ggml.merges", std::span<const std::string>());
    writer.add_uint32("tokenizer.ggml.eos_token_id", 256);
    const auto bytes = writer.bytes();
    const auto file = gguf::File::parse(*bytes, "test.gguf");
    auto tokenizer = text::Tokenizer::from_gguf(*file);
    Model result;
    result.tokenizer = std::move(*tokenizer);
    result.vocabulary = std::make_shared<GrammarVocabulary>(*result.tokenizer);
    return result;
  }();
  return made;
}

// Whether the grammar has exactly this text, read byte by byte.
inline bool matches(const Grammar::Pointer& grammar, std::string_view text) {
  Constraint constraint(grammar);
  for (const char byte : text) {
    if (!constraint.accept(static_cast<uint8_t>(byte))) return false;
  }
  return constraint.may_end();
}

inline Grammar::Pointer gbnf(std::string_view source) {
  auto grammar = Grammar::from_gbnf(source, model().vocabulary);
  EXPECT_TRUE(grammar.has_value()) << grammar.error().message << "\n" << source;
  return grammar ? *grammar : nullptr;
}

inline Grammar::Pointer schema(const Json& json) {
  auto grammar = Grammar::from_json_schema(json, model().vocabulary);
  EXPECT_TRUE(grammar.has_value()) << grammar.error().message << "\n" << json.dump();
  return grammar ? *grammar : nullptr;
}

inline std::string gbnf_error(std::string_view source) {
  const auto grammar = Grammar::from_gbnf(source, model().vocabulary);
  return grammar ? "" : grammar.error().message;
}

inline std::string schema_error(const Json& json) {
  const auto grammar = Grammar::from_json_schema(json, model().vocabulary);
  return grammar ? "" : grammar.error().message;
}

inline std::vector<TokenId> allowed(const TokenMask& mask) {
  std::vector<TokenId> ids;
  for (size_t i = 0; i < mask.size(); ++i) {
    if (mask.allows(static_cast<TokenId>(i))) ids.push_back(static_cast<TokenId>(i));
  }
  return ids;
}

// A text from tokens drawn at random. After `eager` tokens, those that end something come first. Empty and a
// failure when the grammar leads to a dead end.
inline std::string random_text(const Grammar::Pointer& grammar, std::mt19937& random, size_t eager) {
  Constraint constraint(grammar);
  std::string text;
  for (size_t step = 0; step < 3000 && !constraint.is_complete(); ++step) {
    const auto ids = allowed(constraint.mask());
    if (ids.empty()) {
      ADD_FAILURE() << "dead end after " << text;
      return "";
    }
    TokenId pick = ids[random() % ids.size()];
    if (step >= eager) {
      for (const char* end : {"\"", "x", "}", "]", "1", ",", ":"}) {
        const auto byte = static_cast<TokenId>(static_cast<uint8_t>(*end));
        if (constraint.mask().allows(byte) && random() % 8 != 0) {
          pick = byte;
          break;
        }
      }
      if (constraint.mask().allows(256)) pick = 256;
    }
    const auto status = constraint.accept(pick);
    EXPECT_TRUE(status.has_value()) << "the mask allows what accept() refuses, after " << text;
    if (!status) return "";
    if (pick != 256) text += model().vocabulary->bytes(pick);
  }
  EXPECT_TRUE(constraint.is_complete()) << "does not end: " << text;
  return text;
}

}  // namespace oxbow::grammar::testing
