// The logits command, which other programs compare themselves with.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "cli/binary.h"
#include "support/shared.h"

namespace oxbow::testing {
namespace {

const std::string kModel = source_path("tests/golden/granitehybrid-moe.gguf");

// The tokens of a golden file: the numbers between the brackets after "tokens".
std::string golden_tokens(const std::string& path) {
  const std::string json = read_file(path);
  const size_t begin = json.find('[', json.find("\"tokens\"")) + 1;
  return json.substr(begin, json.find(']', begin) - begin);
}

ProgramRun logits(const std::string& out, std::vector<std::string> arguments) {
  const std::vector<std::string> first = {"logits", "-m", kModel, "-o", out};
  arguments.insert(arguments.begin(), first.begin(), first.end());
  return run_program(arguments);
}

class Logits : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
  std::string out_ = folder_.path("logits.npy");
  std::string tokens_ = golden_tokens(source_path("tests/golden/granitehybrid-moe.json"));
};

TEST_F(Logits, AreTheGoldenOnes) {
  const ProgramRun run = logits(out_, {"--tokens", tokens_, "-ctk", "f32", "-ctv", "f32", "--exact"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const std::string ours = read_file(out_);
  const std::string golden = read_file(source_path("tests/golden/granitehybrid-moe.npy"));
  ASSERT_EQ(ours.size(), golden.size());
  EXPECT_EQ(ours.substr(0, 8), golden.substr(0, 8));
  const size_t start =
      10 + static_cast<unsigned char>(golden[8]) + 256 * static_cast<unsigned char>(golden[9]);
  double worst = 0;
  for (size_t i = start; i < golden.size(); i += sizeof(float)) {
    float a = 0, b = 0;
    std::memcpy(&a, ours.data() + i, sizeof(float));
    std::memcpy(&b, golden.data() + i, sizeof(float));
    worst = std::max(worst, std::abs(double{a} - double{b}));
  }
  EXPECT_LT(worst, 1e-4);
}

TEST_F(Logits, AreTheSameBytesForEveryChunkAndThreadCount) {
  std::string first;
  for (const char* chunk : {"1", "7", "512"}) {
    for (const char* threads : {"1", "2"}) {
      const ProgramRun run = logits(out_, {"--tokens", tokens_, "--chunk", chunk, "-t", threads});
      ASSERT_EQ(run.exit_code, 0) << run.err;
      EXPECT_EQ(run.out, "");
      const std::string bytes = read_file(out_);
      if (first.empty()) first = bytes;
      EXPECT_TRUE(bytes == first) << "--chunk " << chunk << " -t " << threads;
    }
  }
}

TEST_F(Logits, TokensMayComeFromAFile) {
  write_file(folder_.path("tokens"), "1\n2, 3\n");
  ASSERT_EQ(logits(out_, {"--tokens-file", folder_.path("tokens")}).exit_code, 0);
  const std::string from_file = read_file(out_);
  ASSERT_EQ(logits(out_, {"--tokens", "1 2 3"}).exit_code, 0);
  EXPECT_TRUE(read_file(out_) == from_file);
  const ProgramRun missing = logits(out_, {"--tokens-file", folder_.path("nothing")});
  EXPECT_EQ(missing.exit_code, 1);
}

TEST_F(Logits, ATokenOutsideTheVocabularyIsNamed) {
  const ProgramRun run = logits(out_, {"--tokens", "1 2 512"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.err.find("token 2 of the list is 512, expected less than the vocabulary's 512"),
            std::string::npos)
      << run.err;
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(Logits, NothingIsLeftWhenTheFileCannotBeWritten) {
  const ProgramRun limited = run_program(
      {"logits", "-m", kModel, "-o", out_, "--tokens", tokens_, "--chunk", "4"}, {.file_size_limit = 20000});
  EXPECT_EQ(limited.exit_code, 1);
  EXPECT_NE(limited.err.find("cannot be written"), std::string::npos) << limited.err;
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
  EXPECT_EQ(logits("/dev/full", {"--tokens", "1"}).exit_code, 1);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
  EXPECT_EQ(logits(folder_.path("no/such/folder.npy"), {"--tokens", "1"}).exit_code, 1);
}

TEST_F(Logits, AnOldFileStaysWhenTheNewOneFails) {
  write_file(out_, "old");
  EXPECT_EQ(logits(out_, {"--tokens", "9999"}).exit_code, 1);
  EXPECT_EQ(read_file(out_), "old");
}

}  // namespace
}  // namespace oxbow::testing
