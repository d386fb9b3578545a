#pragma once
// A conversation that can go back and take another way: a tree of turns, kept as tokens.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cli/chat_format.h"

namespace oxbow::cli {

struct Turn {
  size_t parent = 0;  // the turn before, 0 for none
  std::vector<TokenId> question;
  std::string question_text;
  std::vector<TokenId> answer;  // empty until there is one
  std::string answer_text;
};

// Turns are numbered from 1; 0 is the start. Nothing is ever removed but by clear().
class Conversation {
 public:
  explicit Conversation(ChatFormat format, std::string system = {}) : format_(format) {
    set_system(std::move(system));
  }

  // Counts for all turns.
  void set_system(std::string text);
  const std::string& system() const { return system_; }

  // A new turn after the current one; it becomes the current one.
  void ask(std::string text);
  // Of the current turn, which has none yet.
  void set_answer(std::vector<TokenId> tokens, std::string text);
  // Takes back the last ask() or ask_again(), as long as that turn is the newest one.
  void take_back();

  // Everything up to and including the current turn; ends with its question, or when it has an answer with
  // the answer.
  std::vector<TokenId> tokens() const;

  // The turn before becomes the current one; false at the start.
  bool undo();
  // A new turn with the current one's question; false at the start.
  bool ask_again();
  // Any turn becomes the current one; false when there is no such number.
  bool go_to(size_t turn);
  // To where undo, ask_again or go_to last left; false when they did not.
  bool back();
  void clear();

  size_t current() const { return current_; }
  size_t turn_count() const { return turns_.size() - 1; }
  const Turn& turn(size_t number) const { return turns_[number]; }
  // The current turn's question in one line.
  std::string place() const;
  // One line per turn, indented where the tree branches, the current one marked.
  std::vector<std::string> describe() const;

 private:
  void add(Turn turn);
  void leave_for(size_t turn);
  void describe_from(size_t turn, size_t depth, std::vector<std::string>& lines) const;

  ChatFormat format_;
  std::string system_;
  std::vector<TokenId> head_;
  std::vector<Turn> turns_ = std::vector<Turn>(1);  // [0] is the start
  size_t current_ = 0;
  size_t before_ask_ = 0;
  std::vector<size_t> left_;
};

}  // namespace oxbow::cli
