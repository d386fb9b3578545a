#pragma once
// A conversation that can go back and take another way: a tree of turns.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cli/values.h"
#include "text/chat_format.h"
#include "text/thinking.h"

namespace oxbow::cli {

struct Turn {
  size_t parent = 0;  // the turn before, 0 for none
  std::string question;
  // What the answer was, or is to be, generated from; empty until prompt() was called.
  text::ChatText prompt;
  std::vector<TokenId> prompt_tokens;
  std::vector<TokenId> answer;  // empty until there is one
  std::string answer_text;
  size_t reused = 0;     // tokens of the prompt that were not evaluated for this answer
  size_t evaluated = 0;  // those that were
};

struct Prompt {
  std::vector<TokenId> tokens;
  const text::ThinkingMarks* open_thinking = nullptr;  // the prompt's end opens thoughts with these
};

// Turns are numbered from 1; 0 is the start. Nothing is ever removed but by clear().
class Conversation {
 public:
  // The format outlives the conversation.
  explicit Conversation(const text::ChatFormat& format, std::string system = {})
      : format_(&format), system_(std::move(system)) {}

  // Counts for all turns.
  void set_system(std::string text) { system_ = std::move(text); }
  const std::string& system() const { return system_; }

  // A new turn after the current one; it becomes the current one.
  void ask(std::string text);
  // Of the current turn, which has none yet.
  void set_answer(std::vector<TokenId> tokens, std::string text);
  void set_cost(size_t reused, size_t evaluated);
  // Takes back the last ask() or ask_again(), as long as that turn is the newest one.
  void take_back();

  // What the current turn's answer is generated from. The template renders the whole conversation; as far as
  // it repeats what an earlier turn was made of, letter for letter, that turn's own tokens are kept, the
  // answer's included, so that a session has nothing to evaluate again. Errors: those of
  // text::ChatFormat::render.
  Result<Prompt> prompt();

  // The turn before becomes the current one; false at the start.
  bool undo();
  // A new turn with the current one's question; false at the start.
  bool ask_again();
  // A new turn beside the current one, with another question; false at the start.
  bool edit(std::string question);
  // Any turn becomes the current one; false when there is no such number.
  bool go_to(size_t turn);
  // To where undo, ask_again or go_to last left; false when they did not.
  bool back();
  void clear();
  // turns[0] is the start, parents come before their children, current < turns.size().
  void replace(std::string system, std::vector<Turn> turns, size_t current);

  size_t current() const { return current_; }
  size_t turn_count() const { return turns_.size() - 1; }
  const Turn& turn(size_t number) const { return turns_[number]; }
  // The current turn's question in one line.
  std::string place() const;
  // One line per turn with the tokens reused and evaluated for it, indented where the tree branches, the
  // current one marked.
  std::vector<std::string> describe() const;

 private:
  void add(Turn turn);
  std::vector<size_t> path() const;  // the turns from the first to the current one
  nlohmann::ordered_json messages(const std::vector<size_t>& path) const;
  std::vector<TokenId> tokens_of(const text::ChatText& chat, const std::vector<size_t>& path) const;
  void leave_for(size_t turn);
  void describe_from(size_t turn, size_t depth, std::vector<std::string>& lines) const;

  const text::ChatFormat* format_;
  std::string system_;
  std::vector<Turn> turns_ = std::vector<Turn>(1);  // [0] is the start
  size_t current_ = 0;
  size_t before_ask_ = 0;
  std::vector<size_t> left_;
};

}  // namespace oxbow::cli
