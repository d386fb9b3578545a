#include "cli/answer_writer.h"

namespace oxbow::cli {
namespace {

using Kind = text::ThinkingSplitter::Kind;

std::string_view without_leading_blanks(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first == std::string_view::npos ? std::string_view() : text.substr(first);
}

}  // namespace

Status AnswerWriter::push(std::string_view text) {
  if (output_ == nullptr) return {};
  std::vector<text::ThinkingSplitter::Piece> pieces;
  splitter_.push(text, pieces);
  return show(pieces);
}

Status AnswerWriter::finish() {
  if (output_ == nullptr) return {};
  std::vector<text::ThinkingSplitter::Piece> pieces;
  splitter_.flush(pieces);
  OXBOW_TRY(show(pieces));
  if (hides_) console_.erase_status();
  return {};
}

Status AnswerWriter::show(const std::vector<text::ThinkingSplitter::Piece>& pieces) {
  for (const auto& piece : pieces) {
    thought_ = thought_ || piece.kind == Kind::kMark;
    const bool as_written = !hides_ && !output_->has_color();
    if (as_written) {
      OXBOW_TRY(output_->write(piece.text));
    } else if (piece.kind == Kind::kThought) {
      OXBOW_TRY(show_thought(piece.text));
    } else if (piece.kind == Kind::kAnswer) {
      OXBOW_TRY(show_answer(piece.text));
    }
  }
  return {};
}

Status AnswerWriter::show_thought(std::string_view text) {
  if (hides_) {
    console_.status("thinking ...");
    return {};
  }
  if (!any_thought_) text = without_leading_blanks(text);
  any_thought_ = any_thought_ || !text.empty();
  return output_->write_dim(text);
}

Status AnswerWriter::show_answer(std::string_view text) {
  if (any_answer_ || !thought_) return output_->write(text);
  text = without_leading_blanks(text);
  if (text.empty()) return {};
  any_answer_ = true;
  if (hides_) console_.erase_status();
  if (any_thought_) {
    OXBOW_TRY(output_->finish_line());
    OXBOW_TRY(output_->write("\n"));
  }
  return output_->write(text);
}

}  // namespace oxbow::cli
