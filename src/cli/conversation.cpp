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

void Conversation::ask(std::string text) {
  Turn turn;
  turn.parent = current_;
  turn.question = std::move(text);
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

void Conversation::set_cost(size_t reused, size_t evaluated) {
  turns_[current_].reused = reused;
  turns_[current_].evaluated = evaluated;
}

void Conversation::take_back() {
  if (current_ == 0 || current_ != turns_.size() - 1) return;
  turns_.pop_back();
  current_ = before_ask_;
}

std::vector<size_t> Conversation::path() const {
  std::vector<size_t> path;
  for (size_t turn = current_; turn != 0; turn = turns_[turn].parent) path.push_back(turn);
  std::ranges::reverse(path);
  return path;
}

nlohmann::ordered_json Conversation::messages(const std::vector<size_t>& path) const {
  using Json = nlohmann::ordered_json;
  Json messages = Json::array();
  if (!system_.empty()) messages.push_back({{"role", "system"}, {"content", system_}});
  for (const size_t number : path) {
    const Turn& turn = turns_[number];
    messages.push_back({{"role", "user"}, {"content", turn.question}});
    if (number == current_) break;
    auto [thoughts, answer] = text::split_thinking(turn.answer_text, text::open_thinking(turn.prompt.text));
    Json message = {{"role", "assistant"}, {"content", std::move(answer)}};
    if (!thoughts.empty()) message["reasoning_content"] = std::move(thoughts);
    messages.push_back(std::move(message));
  }
  return messages;
}

std::vector<TokenId> Conversation::tokens_of(const text::ChatText& chat,
                                             const std::vector<size_t>& path) const {
  // Whether the text of a turn's prompt, and behind it `answer`, is how chat begins.
  const auto repeats = [&](const text::ChatText& prompt, std::string_view answer) {
    const std::string_view text = chat.text;
    const auto end = std::ranges::lower_bound(chat.breaks, prompt.text.size());
    return !prompt.text.empty() && text.starts_with(prompt.text) &&
           text.substr(prompt.text.size()).starts_with(answer) &&
           std::equal(chat.breaks.begin(), end, prompt.breaks.begin(), prompt.breaks.end());
  };
  for (auto number = path.rbegin(); number != path.rend(); ++number) {
    const Turn& turn = turns_[*number];
    const bool answered = *number != current_ && repeats(turn.prompt, turn.answer_text);
    if (!answered && !repeats(turn.prompt, "")) continue;
    const size_t from = turn.prompt.text.size() + (answered ? turn.answer_text.size() : 0);
    const auto rest = format_->encode(chat, from);
    if (!rest) continue;
    std::vector<TokenId> tokens = turn.prompt_tokens;
    if (answered) tokens.insert(tokens.end(), turn.answer.begin(), turn.answer.end());
    tokens.insert(tokens.end(), rest->begin(), rest->end());
    return tokens;
  }
  return *format_->encode(chat, 0);
}

Result<Prompt> Conversation::prompt() {
  const std::vector<size_t> turns = path();
  OXBOW_ASSIGN(text::ChatText chat, format_->render(messages(turns)));
  Prompt prompt{tokens_of(chat, turns), text::open_thinking(chat.text)};
  turns_[current_].prompt = std::move(chat);
  turns_[current_].prompt_tokens = prompt.tokens;
  return prompt;
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
  left_.push_back(current_);
  add(std::move(turn));
  return true;
}

bool Conversation::edit(std::string question) {
  if (!ask_again()) return false;
  turns_[current_].question = std::move(question);
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

void Conversation::replace(std::string system, std::vector<Turn> turns, size_t current) {
  system_ = std::move(system);
  turns_ = std::move(turns);
  current_ = before_ask_ = current;
  left_.clear();
}

std::string Conversation::place() const {
  return shorten(turns_[current_].question);
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
      const Turn& shown = turns_[turn];
      std::string line = fmt::format("{} {:>3}  {}{}", turn == current_ ? '*' : ' ', turn,
                                     std::string(2 * depth, ' '), shorten(shown.question));
      if (shown.reused + shown.evaluated > 0)
        line += fmt::format("  ({} reused, {} evaluated)", shown.reused, shown.evaluated);
      lines.push_back(std::move(line));
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
