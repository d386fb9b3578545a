#pragma once
// Vocabularies for tests: real ones from the shared folder, small ones made on the spot, and files of
// vectors.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "gguf/file.h"
#include "gguf/writer.h"
#include "support/shared.h"
#include "text/byte_pair_encoder.h"
#include "text/tokenizer.h"
#include "text/unicode.h"

namespace oxbow::text::testing {

using TokenIds = std::vector<TokenId>;

// What is written to a GGUF file's tokenizer keys. Kinds, scores and merges are left out when empty.
struct VocabularySpec {
  std::string model = "gpt2";
  std::string pre = "gpt-2";
  std::vector<std::string> tokens;
  std::vector<int32_t> kinds;
  std::vector<float> scores;
  std::vector<std::string> merges;
  // Adds or replaces keys at the end.
  std::function<void(gguf::Writer&)> extra;
};

// The 256 byte tokens of GPT-2's alphabet as ids 0 to 255, then one control token "<|end|>" (256, also eos)
// and the merges' results.
inline VocabularySpec byte_level_spec(std::vector<std::string> merges) {
  VocabularySpec spec;
  for (unsigned byte = 0; byte < 256; ++byte) {
    append_utf8(spec.tokens.emplace_back(), byte_character(static_cast<uint8_t>(byte)));
  }
  spec.kinds.assign(256, 1);
  spec.tokens.push_back("<|end|>");
  spec.kinds.push_back(3);
  for (const std::string& merge : merges) {
    const size_t space = merge.find(' ', 1);
    spec.tokens.push_back(merge.substr(0, space) + merge.substr(space + 1));
    spec.kinds.push_back(1);
  }
  spec.merges = std::move(merges);
  spec.extra = [](gguf::Writer& writer) { writer.add_uint32("tokenizer.ggml.eos_token_id", 256); };
  return spec;
}

// "<unk>", "<s>", "</s>", the 256 byte tokens, then `texts` with falling scores.
inline VocabularySpec sentence_piece_spec(const std::vector<std::string>& texts) {
  VocabularySpec spec;
  spec.model = "llama";
  spec.pre = "default";
  spec.tokens = {"<unk>", "<s>", "</s>"};
  spec.kinds = {2, 3, 3};
  for (unsigned byte = 0; byte < 256; ++byte) {
    spec.tokens.push_back(fmt::format("<0x{:02X}>", byte));
    spec.kinds.push_back(6);
  }
  spec.scores.assign(spec.tokens.size(), 0.0f);
  for (const std::string& text : texts) {
    spec.scores.push_back(-static_cast<float>(spec.tokens.size()));
    spec.tokens.push_back(text);
    spec.kinds.push_back(1);
  }
  return spec;
}

inline std::vector<std::byte> write_vocabulary(const VocabularySpec& spec) {
  gguf::Writer writer;
  writer.add_string("general.architecture", "llama");
  writer.add_string("tokenizer.ggml.model", spec.model);
  if (!spec.pre.empty()) writer.add_string("tokenizer.ggml.pre", spec.pre);
  writer.add_array("tokenizer.ggml.tokens", std::span<const std::string>(spec.tokens));
  if (!spec.kinds.empty())
    writer.add_array("tokenizer.ggml.token_type", std::span<const int32_t>(spec.kinds));
  if (!spec.scores.empty()) writer.add_array("tokenizer.ggml.scores", std::span<const float>(spec.scores));
  if (spec.model == "gpt2")
    writer.add_array("tokenizer.ggml.merges", std::span<const std::string>(spec.merges));
  if (spec.extra) spec.extra(writer);
  auto bytes = writer.bytes();
  EXPECT_TRUE(bytes) << (bytes ? "" : bytes.error().message);
  return bytes ? std::move(*bytes) : std::vector<std::byte>();
}

inline Result<Vocabulary> load_vocabulary(const VocabularySpec& spec) {
  const std::vector<std::byte> bytes = write_vocabulary(spec);
  OXBOW_ASSIGN(const gguf::File file, gguf::File::parse(bytes, "test.gguf"));
  return Vocabulary::from_gguf(file);
}

inline Result<std::unique_ptr<Tokenizer>> load_tokenizer(const VocabularySpec& spec) {
  OXBOW_ASSIGN(Vocabulary vocabulary, load_vocabulary(spec));
  return Tokenizer::create(std::make_shared<const Vocabulary>(std::move(vocabulary)));
}

// Fails the test and returns null when the tokenizer does not load.
inline std::unique_ptr<Tokenizer> tokenizer_of(const VocabularySpec& spec) {
  auto tokenizer = load_tokenizer(spec);
  EXPECT_TRUE(tokenizer) << (tokenizer ? "" : tokenizer.error().message);
  return tokenizer ? std::move(*tokenizer) : nullptr;
}

inline std::unique_ptr<Tokenizer> tokenizer_of(const gguf::File& file) {
  auto tokenizer = Tokenizer::from_gguf(file);
  EXPECT_TRUE(tokenizer) << (tokenizer ? "" : tokenizer.error().message);
  return tokenizer ? std::move(*tokenizer) : nullptr;
}

inline Result<gguf::File> open_shared(const std::string& path) {
  return gguf::File::open(oxbow::testing::shared_directory() + "/" + path);
}

inline std::unique_ptr<Tokenizer> shared_tokenizer(const std::string& path) {
  const auto file = open_shared(path);
  EXPECT_TRUE(file) << (file ? "" : file.error().message);
  return file ? tokenizer_of(*file) : nullptr;
}

inline std::string read_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  EXPECT_TRUE(stream.good()) << path;
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

struct Vector {
  std::string text;
  TokenIds tokens;
};

// Of an .inp file (texts, each followed by a marker line) and an .out file (a line of ids per text).
inline std::vector<Vector> read_vectors(const std::string& texts_path, const std::string& tokens_path) {
  constexpr std::string_view kMarker = "\n__ggml_vocab_test__\n";
  const std::string directory = oxbow::testing::shared_directory() + "/";
  const std::string texts = read_file(directory + texts_path);
  std::istringstream lines(read_file(directory + tokens_path));
  std::vector<Vector> vectors;
  for (size_t at = 0; at < texts.size();) {
    const size_t end = texts.find(kMarker, at);
    EXPECT_NE(end, std::string::npos) << texts_path;
    if (end == std::string::npos) break;
    Vector vector{texts.substr(at, end - at), {}};
    std::string line;
    EXPECT_TRUE(std::getline(lines, line)) << tokens_path << " ends early";
    std::istringstream ids(line);
    for (TokenId id; ids >> id;) vector.tokens.push_back(id);
    vectors.push_back(std::move(vector));
    at = end + kMarker.size();
  }
  return vectors;
}

constexpr EncodeOptions kPlain{.add_special = false, .parse_special = false};

// The messages that the library logs while it lives.
class LogCapture {
 public:
  LogCapture() {
    set_log_sink(
        [this](LogLevel, std::string_view, std::string_view message) { messages_.emplace_back(message); });
  }
  ~LogCapture() { set_log_sink({}); }
  const std::vector<std::string>& messages() const { return messages_; }

 private:
  std::vector<std::string> messages_;
};

}  // namespace oxbow::text::testing
