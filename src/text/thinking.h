#pragma once
// The part of an answer that a model thinks before it answers, between marks such as <think> and </think>.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace oxbow::text {

struct ThinkingMarks {
  std::string_view open, close;
};

// Of all families, `<think>` first.
std::span<const ThinkingMarks> thinking_marks();

// The marks that the end of a prompt leaves open; null when the answer begins outside of thoughts.
const ThinkingMarks* open_thinking(std::string_view prompt);

// Takes an answer apart while it arrives. An opening mark counts at the beginning of the answer only, blank
// space aside: later it is a word like any other. The pieces do not depend on how the text was cut.
class ThinkingSplitter {
 public:
  enum class Kind { kThought, kAnswer, kMark };
  struct Piece {
    Kind kind;
    std::string text;
  };

  // open: what open_thinking() gave for the prompt.
  explicit ThinkingSplitter(const ThinkingMarks* open = nullptr) : marks_(open) {}

  // Appends what is certain by now to out. Blank space in front of an opening mark belongs to the mark.
  void push(std::string_view text, std::vector<Piece>& out);
  // The end: what was held back.
  void flush(std::vector<Piece>& out);

  bool is_thinking() const { return !answering_ && marks_ != nullptr; }

 private:
  void start(std::vector<Piece>& out);
  void think(std::vector<Piece>& out);
  void give(Kind kind, size_t bytes, std::vector<Piece>& out);

  std::string held_;
  const ThinkingMarks* marks_;
  bool answering_ = false;
};

// A whole answer in two: thoughts, and what follows them, without the marks and the blank space around them.
// An answer without thoughts stays as it is.
struct SplitAnswer {
  std::string thoughts, answer;
};
SplitAnswer split_thinking(std::string_view answer, const ThinkingMarks* open = nullptr);

}  // namespace oxbow::text
