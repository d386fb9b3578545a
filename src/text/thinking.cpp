#include "text/thinking.h"

#include <algorithm>

namespace oxbow::text {

namespace {

constexpr ThinkingMarks kMarks[] = {
    {"<think>", "</think>"},
    {"<thinking>", "</thinking>"},
    {"<thought>", "</thought>"},
    {"<reasoning>", "</reasoning>"},
    {"<seed:think>", "</seed:think>"},
    {"[THINK]", "[/THINK]"},
    {"<|START_THINKING|>", "<|END_THINKING|>"},
    {"\u25C1think\u25B7", "\u25C1/think\u25B7"},
};
constexpr std::string_view kBlank = " \t\r\n";

std::string_view without_blanks(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) + 1 - first);
}

}  // namespace

std::span<const ThinkingMarks> thinking_marks() {
  return kMarks;
}

const ThinkingMarks* open_thinking(std::string_view prompt) {
  const std::string_view end = without_blanks(prompt);
  const auto* found =
      std::ranges::find_if(kMarks, [&](const ThinkingMarks& marks) { return end.ends_with(marks.open); });
  return found != std::end(kMarks) ? found : nullptr;
}

void ThinkingSplitter::give(Kind kind, size_t bytes, std::vector<Piece>& out) {
  if (bytes == 0) return;
  out.push_back({kind, held_.substr(0, bytes)});
  held_.erase(0, bytes);
}

void ThinkingSplitter::push(std::string_view text, std::vector<Piece>& out) {
  held_ += text;
  if (!answering_ && marks_ == nullptr) start(out);
  if (is_thinking()) think(out);
  if (answering_) give(Kind::kAnswer, held_.size(), out);
}

void ThinkingSplitter::start(std::vector<Piece>& out) {
  const size_t blanks = std::min(held_.find_first_not_of(kBlank), held_.size());
  const std::string_view rest = std::string_view(held_).substr(blanks);
  for (const ThinkingMarks& marks : kMarks) {
    if (rest.starts_with(marks.open)) {
      marks_ = &marks;
      give(Kind::kMark, blanks + marks.open.size(), out);
      return;
    }
  }
  // Blank space alone, or the front of a mark, may still become one.
  answering_ =
      std::ranges::none_of(kMarks, [&](const ThinkingMarks& marks) { return marks.open.starts_with(rest); });
}

void ThinkingSplitter::think(std::vector<Piece>& out) {
  const std::string_view close = marks_->close;
  const size_t place = held_.find(close);
  if (place != std::string::npos) {
    give(Kind::kThought, place, out);
    give(Kind::kMark, close.size(), out);
    answering_ = true;
    return;
  }
  size_t keep = std::min(held_.size(), close.size() - 1);
  while (keep > 0 && !held_.ends_with(close.substr(0, keep))) --keep;
  give(Kind::kThought, held_.size() - keep, out);
}

void ThinkingSplitter::flush(std::vector<Piece>& out) {
  give(is_thinking() ? Kind::kThought : Kind::kAnswer, held_.size(), out);
}

SplitAnswer split_thinking(std::string_view answer, const ThinkingMarks* open) {
  ThinkingSplitter splitter(open);
  std::vector<ThinkingSplitter::Piece> pieces;
  splitter.push(answer, pieces);
  splitter.flush(pieces);
  std::string thoughts, rest;
  bool any = open != nullptr;
  for (const auto& piece : pieces) {
    if (piece.kind == ThinkingSplitter::Kind::kThought) thoughts += piece.text;
    if (piece.kind == ThinkingSplitter::Kind::kAnswer) rest += piece.text;
    any = any || piece.kind == ThinkingSplitter::Kind::kMark;
  }
  if (!any) return {"", std::string(answer)};
  return {std::string(without_blanks(thoughts)), std::string(without_blanks(rest))};
}

}  // namespace oxbow::text
