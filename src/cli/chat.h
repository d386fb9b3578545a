#pragma once
// A conversation at the terminal.

#include <optional>
#include <string>

#include "cli/console.h"
#include "cli/conversation.h"
#include "cli/generation.h"
#include "cli/line_editor.h"
#include "cli/text_output.h"
#include "engine/engine.h"
#include "engine/session.h"

namespace oxbow::cli {

struct ChatSettings {
  AnswerOptions answer;
  bool single_turn = false;
  bool history = true;
  std::string session_file;  // written after every answer; empty: none
};

// Keeps references to everything. An InterruptGuard lives as long as run().
class Chat {
 public:
  Chat(engine::Engine& engine, engine::Session& session, Conversation conversation, Generator& generator,
       TextOutput& output, Console& console, const ChatSettings& settings)
      : engine_(engine),
        session_(session),
        conversation_(std::move(conversation)),
        generator_(generator),
        output_(output),
        console_(console),
        settings_(settings) {}

  // Reads a saved conversation and its state, announcing what has to be evaluated again.
  Status restore(const std::string& path);

  // Talks until the person leaves, starting with `first` as a message that was given already. Returns the
  // exit code.
  int run(std::optional<std::string> first);

 private:
  enum class Next { kContinue, kLeave };

  struct Input {
    std::string text;
    bool is_message = false;  // never a command
  };

  std::optional<Input> read_input(LineEditor& editor);
  std::optional<std::string> read_quoted(LineEditor& editor, std::string text);
  Next handle(const Input& input);
  Next answer();
  Next say_message(const std::string& text);
  void regenerate_or_say_why(Next& next);
  void edit(const std::string& text, Next& next);
  void save(const std::string& name);
  void load(const std::string& name);
  bool write_session(const std::string& path);
  void set_system(const std::string& text);
  void attach_file(const std::string& path);
  void show_stats();
  void show_place();
  void leave(int exit_code) { exit_code_ = exit_code; }

  engine::Engine& engine_;
  engine::Session& session_;
  Conversation conversation_;
  Generator& generator_;
  TextOutput& output_;
  Console& console_;
  ChatSettings settings_;
  std::string attached_;  // text of files for the next message
  size_t reused_ = 0;     // prompt tokens, over all answers
  size_t evaluated_ = 0;
  bool warned_at_prompt_ = false;  // Ctrl-C in an empty line: the next one leaves
  int exit_code_ = 0;
};

}  // namespace oxbow::cli
