#include "text/thinking.h"

#include <gtest/gtest.h>

namespace oxbow::text::testing {
namespace {

using Kind = ThinkingSplitter::Kind;

// Pieces of one kind joined, "T(...)", "A(...)" and "M(...)" in their order.
std::string pieces_of(std::string_view answer, size_t step, const ThinkingMarks* open = nullptr) {
  ThinkingSplitter splitter(open);
  std::vector<ThinkingSplitter::Piece> pieces;
  for (size_t at = 0; at < answer.size(); at += step) splitter.push(answer.substr(at, step), pieces);
  splitter.flush(pieces);
  std::string out;
  for (size_t i = 0; i < pieces.size();) {
    const Kind kind = pieces[i].kind;
    out += kind == Kind::kThought ? "T(" : kind == Kind::kAnswer ? "A(" : "M(";
    for (; i < pieces.size() && pieces[i].kind == kind; ++i) out += pieces[i].text;
    out += ')';
  }
  return out;
}

TEST(Thinking, PiecesDoNotDependOnTheCuts) {
  for (size_t step = 1; step < 40; ++step) {
    EXPECT_EQ(pieces_of("\n<think>\nHm <b>?\n</think>\n\nYes <think>", step),
              "M(\n<think>)T(\nHm <b>?\n)M(</think>)A(\n\nYes <think>)");
    EXPECT_EQ(pieces_of("<thin> is no mark", step), "A(<thin> is no mark)");
    EXPECT_EQ(pieces_of("  plain", step), "A(  plain)");
    EXPECT_EQ(pieces_of("[THINK]a</think>b[/THINK]c", step), "M([THINK])T(a</think>b)M([/THINK])A(c)");
    EXPECT_EQ(pieces_of("\u25C1think\u25B7x\u25C1/think\u25B7y", step),
              "M(\u25C1think\u25B7)T(x)M(\u25C1/think\u25B7)A(y)");
  }
}

TEST(Thinking, AnAnswerThatEndsEarlyLosesNothing) {
  for (size_t step = 1; step < 9; ++step) {
    EXPECT_EQ(pieces_of("<think>never </thi", step), "M(<think>)T(never </thi)");
    EXPECT_EQ(pieces_of(" \n<thi", step), "A( \n<thi)");
    EXPECT_EQ(pieces_of(" \n ", step), "A( \n )");
    EXPECT_EQ(pieces_of("", step), "");
  }
}

TEST(Thinking, APromptMayOpenTheThoughts) {
  const ThinkingMarks* open = open_thinking("<|im_start|>assistant\n<think>\n");
  ASSERT_NE(open, nullptr);
  EXPECT_EQ(pieces_of("Hm.</think>Yes", 3, open), "T(Hm.)M(</think>)A(Yes)");
  EXPECT_EQ(open_thinking("<|im_start|>assistant\n<think>\n\n</think>\n\n"), nullptr);
  EXPECT_EQ(open_thinking("<|im_start|>assistant\n"), nullptr);
  EXPECT_EQ(open_thinking(""), nullptr);
}

TEST(Thinking, SplitsAWholeAnswer) {
  EXPECT_EQ(split_thinking("<think>\nHm\n</think>\n\nYes\n").thoughts, "Hm");
  EXPECT_EQ(split_thinking("<think>\nHm\n</think>\n\nYes\n").answer, "Yes");
  EXPECT_EQ(split_thinking(" Yes\n").answer, " Yes\n");
  EXPECT_EQ(split_thinking(" Yes\n").thoughts, "");
  EXPECT_EQ(split_thinking("only thoughts", &thinking_marks()[0]).answer, "");
}

}  // namespace
}  // namespace oxbow::text::testing
