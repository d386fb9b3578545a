#pragma once
// Shows an answer while it arrives, its thoughts apart from the rest.

#include <string_view>
#include <vector>

#include "cli/console.h"
#include "cli/text_output.h"
#include "text/thinking.h"

namespace oxbow::cli {

// Thoughts are dim where there are colours, without their marks and with an empty line behind them; elsewhere
// the text stays as the model wrote it. Hidden, they and their marks are left out, and a terminal says
// meanwhile that the model thinks.
class AnswerWriter {
 public:
  // output: null shows nothing. open: the marks that the prompt left open.
  AnswerWriter(TextOutput* output, Console& console, bool hide_thinking, const text::ThinkingMarks* open)
      : output_(output),
        console_(console),
        hides_(hide_thinking),
        splitter_(open),
        thought_(open != nullptr) {}

  // Errors: those of TextOutput::write.
  Status push(std::string_view text);
  // The end of the answer.
  Status finish();

 private:
  Status show(const std::vector<text::ThinkingSplitter::Piece>& pieces);
  Status show_thought(std::string_view text);
  Status show_answer(std::string_view text);

  TextOutput* output_;
  Console& console_;
  bool hides_;
  text::ThinkingSplitter splitter_;
  bool thought_;              // there were thoughts
  bool any_thought_ = false;  // and some of them were shown
  bool any_answer_ = false;
};

}  // namespace oxbow::cli
