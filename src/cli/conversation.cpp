#include "cli/conversation.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "text/unicode.h"

namespace oxbow::cli {
namespace {

constexpr size_t kShownColumns = 50;

// One line, shortened to the columns.
std::string shorten(std::string_view text) {
  std::string out;
  size_t width = 0;
  while (!text.empty()) {
    const auto character = text::decode_character(text);
    const std::string_view bytes = text.substr(0, character.size_bytes);
    width += text::display_width(bytes);
    if (width > kShownColumns) return out + "…";
    out += bytes == "\n" ? std::string_view(" ") : bytes;
    text.remove_prefix(character.size_bytes);
  }
  return out;
}

}  // namespace

void Conversation::set_system(std::string text) {
  system_ = std::move(text);
  head_ = format_.head(system_);
}

void Conversation::ask(std::string text) {
  Turn turn;
  turn.parent = current_;
  turn.question = format_.question(text);
  turn.question_text = std::move(text);
  add(std::move(turn));
}

void Conversation::add(Turn turn) {
  turns_.push_back(std::move(turn));
  before_ask_ = current_;
  current_ = turns_.size() - 1;
}

void Conversation::set_answer(std::vector<TokenId> tokens, std::string text) {
  turns_[current_].answer = std::move(tokens);
  turns_[current_].answer_text = std::move(text);
}

void Conversation::take_back() {
  if (current_ == 0 || current_ != turns_.size() - 1) return;
  turns_.pop_back();
  current_ = before_ask_;
}

std::vector<TokenId> Conversation::tokens() const {
  std::vector<size_t> path;
  for (size_t turn = current_; turn != 0; turn = turns_[turn].parent) path.push_back(turn);
  std::ranges::reverse(path);
  std::vector<TokenId> tokens = head_;
  const std::vector<TokenId> end = format_.answer_end();
  const auto add = [&](const std::vector<TokenId>& part) {
    tokens.insert(tokens.end(), part.begin(), part.end());
  };
  for (const size_t number : path) {
    add(turns_[number].question);
    add(turns_[number].answer);
    if (number != current_) add(end);
  }
  return tokens;
}

void Conversation::leave_for(size_t turn) {
  left_.push_back(current_);
  current_ = turn;
}

bool Conversation::undo() {
  if (current_ == 0) return false;
  leave_for(turns_[current_].parent);
  return true;
}

bool Conversation::ask_again() {
  if (current_ == 0) return false;
  Turn turn;
  turn.parent = turns_[current_].parent;
  turn.question = turns_[current_].question;
  turn.question_text = turns_[current_].question_text;
  left_.push_back(current_);
  add(std::move(turn));
  return true;
}

bool Conversation::go_to(size_t turn) {
  if (turn >= turns_.size()) return false;
  leave_for(turn);
  return true;
}

bool Conversation::back() {
  while (!left_.empty()) {
    const size_t turn = left_.back();
    left_.pop_back();
    if (turn < turns_.size() && turn != current_) {
      current_ = turn;
      return true;
    }
  }
  return false;
}

void Conversation::clear() {
  turns_.resize(1);
  current_ = before_ask_ = 0;
  left_.clear();
}

std::string Conversation::place() const {
  return shorten(turns_[current_].question_text);
}

std::vector<std::string> Conversation::describe() const {
  std::vector<std::string> lines;
  describe_from(0, 0, lines);
  return lines;
}

// Goes down a chain of only children without recursion: depth of the recursion is the number of branchings.
void Conversation::describe_from(size_t turn, size_t depth, std::vector<std::string>& lines) const {
  std::vector<size_t> children;
  for (;;) {
    if (turn != 0) {
      lines.push_back(fmt::format("{} {:>3}  {}{}", turn == current_ ? '*' : ' ', turn,
                                  std::string(2 * depth, ' '), shorten(turns_[turn].question_text)));
    }
    children.clear();
    for (size_t i = 1; i < turns_.size(); ++i) {
      if (turns_[i].parent == turn && i != turn) children.push_back(i);
    }
    if (children.size() != 1) break;
    turn = children[0];
  }
  for (const size_t child : children) describe_from(child, depth + 1, lines);
}

}  // namespace oxbow::cli
