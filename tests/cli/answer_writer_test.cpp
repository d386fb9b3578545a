#include "cli/answer_writer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

namespace oxbow::cli {
namespace {

// What reaches the output when an answer arrives in steps of some bytes.
std::string shown(std::string_view answer, size_t step, bool terminal, bool color, bool hide,
                  const text::ThinkingMarks* open = nullptr) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe(ends.data()), 0);
  Console console;
  TextOutput output(ends[1], terminal, color);
  AnswerWriter writer(&output, console, hide, open);
  for (size_t at = 0; at < answer.size(); at += step) EXPECT_TRUE(writer.push(answer.substr(at, step)));
  EXPECT_TRUE(writer.finish());
  ::close(ends[1]);
  std::string out;
  char buffer[4096];
  for (ssize_t count; (count = ::read(ends[0], buffer, sizeof buffer)) > 0;)
    out.append(buffer, static_cast<size_t>(count));
  ::close(ends[0]);
  return out;
}

// Without where dim begins and ends again at once.
std::string joined(std::string text) {
  const std::string seam = "\x1b[0m\x1b[2m";
  for (size_t at; (at = text.find(seam)) != std::string::npos;) text.erase(at, seam.size());
  return text;
}

const std::string kAnswer = "<think>\nHm.\n</think>\n\nYes.\nNo.";

TEST(AnswerWriter, WithoutColoursTheTextStaysAsTheModelWroteIt) {
  for (size_t step = 1; step < 12; ++step) {
    EXPECT_EQ(shown(kAnswer, step, false, false, false), kAnswer);
    EXPECT_EQ(shown(kAnswer, step, false, true, false), kAnswer);
    EXPECT_EQ(shown(kAnswer, step, true, false, false), kAnswer);
    EXPECT_EQ(shown("\n plain <think> text", step, false, false, false), "\n plain <think> text");
  }
}

TEST(AnswerWriter, ThoughtsAreDimOnATerminal) {
  for (size_t step = 1; step < 12; ++step) {
    EXPECT_EQ(joined(shown(kAnswer, step, true, true, false)), "\x1b[2mHm.\n\x1b[0m\nYes.\nNo.");
    EXPECT_EQ(shown("plain", step, true, true, false), "plain");
    EXPECT_EQ(joined(shown("Hm.</think>Yes", step, true, true, false, &text::thinking_marks()[0])),
              "\x1b[2mHm.\x1b[0m\n\nYes");
    EXPECT_EQ(shown("<think>\n\n</think>\n\nYes", step, true, true, false), "Yes");
  }
}

TEST(AnswerWriter, HiddenThoughtsLeaveTheAnswerAlone) {
  for (size_t step = 1; step < 12; ++step) {
    for (const bool terminal : {false, true}) {
      EXPECT_EQ(shown(kAnswer, step, terminal, terminal, true), "Yes.\nNo.");
      EXPECT_EQ(shown("\n plain", step, terminal, terminal, true), "\n plain");
      EXPECT_EQ(shown("<think>never ends", step, terminal, terminal, true), "");
    }
  }
}

TEST(AnswerWriter, ATerminalIsNotReprogrammed) {
  EXPECT_EQ(joined(shown("<think>a\x1b[2J</think>b\x1b[2J", 99, true, true, false)),
            "\x1b[2ma[2J\x1b[0m\n\nb[2J");
}

}  // namespace
}  // namespace oxbow::cli
