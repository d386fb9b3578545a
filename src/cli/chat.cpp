#include "cli/chat.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "cli/chat_commands.h"
#include "cli/conversation_json.h"
#include "cli/exit_code.h"
#include "cli/input_text.h"
#include "cli/interrupt.h"
#include "cli/saved_sessions.h"
#include "cli/values.h"

namespace oxbow::cli {
namespace {

constexpr std::string_view kQuotes = "\"\"\"";
const std::string kPrompt = ">>> ";
const std::string kContinuationPrompt = "... ";

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

}  // namespace

int Chat::run(std::optional<std::string> first) {
  const int terminal = console_.stderr_is_terminal() ? STDERR_FILENO : STDOUT_FILENO;
  const std::string path =
      settings_.history ? history_path(std::getenv("XDG_STATE_HOME"), std::getenv("HOME")) : std::string();
  LineEditor editor(terminal, path, complete_chat_line);
  std::optional<Input> input;
  if (first) input = Input{std::move(*first), true};
  for (;;) {
    if (!input) input = read_input(editor);
    if (!input || handle(*input) == Next::kLeave) return exit_code_;
    input.reset();
  }
}

// A message or a command; nothing when the person leaves.
std::optional<Chat::Input> Chat::read_input(LineEditor& editor) {
  for (;;) {
    clear_interrupt();
    Line line = editor.read(kPrompt);
    if (line.kind == Line::Kind::kEnd) {
      if (const int signal = pending_interrupt(); signal != 0) leave(128 + signal);
      return std::nullopt;
    }
    if (line.kind == Line::Kind::kInterrupted) {
      if (warned_at_prompt_ && line.text.empty()) {
        leave(kExitInterrupted);
        return std::nullopt;
      }
      warned_at_prompt_ = line.text.empty();
      if (warned_at_prompt_) console_.dim("Ctrl-C again, Ctrl-D or /exit leaves.");
      continue;
    }
    warned_at_prompt_ = false;
    Input input{std::move(line.text), false};
    if (input.text.starts_with(kQuotes)) {
      auto text = read_quoted(editor, input.text.substr(kQuotes.size()));
      if (!text) continue;
      input = {std::move(*text), true};
    }
    if (is_blank(input.text)) continue;
    editor.remember(input.text);
    return input;
  }
}

// Goes on reading up to the closing quotes; nothing when that was given up.
std::optional<std::string> Chat::read_quoted(LineEditor& editor, std::string text) {
  for (;;) {
    if (text.ends_with(kQuotes)) {
      text.resize(text.size() - kQuotes.size());
      return without_last_newline(std::move(text));
    }
    const Line line = editor.read(kContinuationPrompt);
    if (line.kind != Line::Kind::kText) return std::nullopt;
    if (!text.empty()) text += '\n';
    text += line.text;
  }
}

Chat::Next Chat::handle(const Input& input) {
  Next next = Next::kContinue;
  const ChatRequest request = input.is_message ? ChatRequest{} : parse_chat_line(input.text);
  switch (request.action) {
    case ChatAction::kMessage:
      return say_message(input.text);
    case ChatAction::kExit:
      return Next::kLeave;
    case ChatAction::kHelp:
      console_.say("{}", chat_help());
      break;
    case ChatAction::kClear:
      conversation_.clear();
      attached_.clear();
      console_.dim("The conversation is empty.");
      break;
    case ChatAction::kAgain:
      regenerate_or_say_why(next);
      break;
    case ChatAction::kUndo:
      if (conversation_.undo())
        show_place();
      else
        console_.say("There is nothing to take back.");
      break;
    case ChatAction::kEdit:
      edit(request.argument, next);
      break;
    case ChatAction::kSave:
      save(request.argument);
      break;
    case ChatAction::kLoad:
      load(request.argument);
      break;
    case ChatAction::kSystem:
      set_system(request.argument);
      break;
    case ChatAction::kStats:
      show_stats();
      break;
    case ChatAction::kRead:
      attach_file(request.argument);
      break;
    case ChatAction::kTree:
      for (const std::string& turn : conversation_.describe()) console_.say("{}", turn);
      if (conversation_.turn_count() == 0) console_.say("The conversation is empty.");
      break;
    case ChatAction::kBranch: {
      const auto number = parse_integer(request.argument);
      if (number && *number >= 0 && conversation_.go_to(static_cast<size_t>(*number)))
        show_place();
      else
        console_.say("/branch needs a turn from 0 to {}; /tree lists them.", conversation_.turn_count());
      break;
    }
    case ChatAction::kBack:
      if (conversation_.back())
        show_place();
      else
        console_.say("There is no place to go back to.");
      break;
    case ChatAction::kUnknown:
      console_.say("{}", request.argument.empty()
                             ? "Unknown command; /help lists them."
                             : fmt::format("Unknown command, did you mean {}?", request.argument));
      break;
  }
  return next;
}

Chat::Next Chat::say_message(const std::string& text) {
  conversation_.ask(attached_.empty() ? text : attached_ + "\n" + text);
  const size_t turn = conversation_.current();
  const Next next = answer();
  if (conversation_.current() == turn) attached_.clear();
  return next;
}

void Chat::regenerate_or_say_why(Next& next) {
  if (conversation_.ask_again())
    next = answer();
  else
    console_.say("There is no message to answer again.");
}

void Chat::edit(const std::string& text, Next& next) {
  if (text.empty()) {
    console_.say("/edit needs the new message.");
  } else if (conversation_.edit(text)) {
    next = answer();
  } else {
    console_.say("There is no message to edit.");
  }
}

namespace {

std::string named_sessions() {
  return sessions_folder(std::getenv("XDG_STATE_HOME"), std::getenv("HOME"));
}

}  // namespace

bool Chat::write_session(const std::string& path) {
  std::error_code ignored;
  const auto folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, ignored);
  const Status saved = session_.save(path, to_json(conversation_));
  if (!saved) console_.error(saved.error().message);
  return saved.has_value();
}

void Chat::save(const std::string& name) {
  const auto path = session_path(name, named_sessions());
  if (!path) return console_.say("/save: {}.", path.error().message);
  if (write_session(*path))
    console_.dim("Saved: {} tokens in {}.", format_count(session_.tokens().size()), *path);
}

void Chat::load(const std::string& name) {
  if (name.empty()) {
    const auto names = saved_sessions(named_sessions());
    for (const std::string& one : names) console_.say("  {}", one);
    if (names.empty()) console_.say("There are no saved conversations.");
    return;
  }
  const auto path = session_path(name, named_sessions());
  if (!path) return console_.say("/load: {}.", path.error().message);
  if (const Status status = restore(*path); !status) return console_.error(status.error().message);
  show_place();
}

Status Chat::restore(const std::string& path) {
  OXBOW_ASSIGN(const engine::RestoredSession restored, session_.restore(path));
  const size_t vocabulary = restored.other_model ? 0 : engine_.model().vocabulary();
  if (Status status = from_json(restored.text, vocabulary, conversation_); !status)
    return fail(status.error().kind, "{}: {}", path, status.error().message);
  if (!restored.recompute_reason.empty()) {
    console_.warn(fmt::format("{}: {}; the conversation is there, its {} tokens are evaluated again", path,
                              restored.recompute_reason, restored.tokens.size()));
  } else {
    console_.dim("Restored {} tokens of {}.", format_count(restored.restored), path);
  }
  return {};
}

// Answers the current turn, which has no answer yet.
Chat::Next Chat::answer() {
  auto prompt = conversation_.prompt();
  if (!prompt) {
    console_.error(prompt.error().message);
    conversation_.take_back();
    if (!settings_.single_turn) return Next::kContinue;
    leave(kExitRunTime);
    return Next::kLeave;
  }
  settings_.answer.open_thinking = prompt->open_thinking;
  clear_interrupt();
  set_double_interrupt_exits(true);
  Answer answer = generator_.answer(prompt->tokens, settings_.answer);
  set_double_interrupt_exits(false);
  const int signal = pending_interrupt();
  if (answer.stop != StopReason::kClosed) {
    if (auto status = output_.finish_line(); !status && !answer.error) answer.error = status.error();
  }
  if (answer.stop == StopReason::kClosed) return Next::kLeave;
  const bool nothing = answer.tokens.empty() && (answer.error || answer.stop == StopReason::kInterrupted);
  if (nothing) {
    conversation_.take_back();
  } else {
    conversation_.set_answer(answer.tokens, answer.text);
    const Statistics& statistics = answer.statistics;
    conversation_.set_cost(statistics.reused_tokens, statistics.prompt_tokens - statistics.reused_tokens);
    reused_ += statistics.reused_tokens;
    evaluated_ += statistics.prompt_tokens - statistics.reused_tokens;
    if (!settings_.session_file.empty()) write_session(settings_.session_file);
    console_.dim("{}", format_statistics(answer.statistics));
  }
  if (answer.stop == StopReason::kContext) {
    console_.warn(
        fmt::format("the context of {} tokens is full; /clear begins anew, /undo goes back, and a larger -c "
                    "at the start holds more",
                    session_.context_tokens()));
  }
  if (answer.error) console_.error(answer.error->message);
  if (nothing && answer.stop == StopReason::kInterrupted)
    console_.dim("Stopped before the answer; the message was not kept.");
  if (signal != 0 && signal != SIGINT) {
    leave(128 + signal);
    return Next::kLeave;
  }
  clear_interrupt();
  warned_at_prompt_ = signal == SIGINT && interrupted_just_now();
  if (answer.error && answer.error->kind == ErrorKind::kIo) {
    leave(kExitRunTime);
    return Next::kLeave;
  }
  return settings_.single_turn ? Next::kLeave : Next::kContinue;
}

void Chat::set_system(const std::string& text) {
  if (text.empty()) {
    console_.say("{}",
                 conversation_.system().empty() ? "There is no system message." : conversation_.system());
    return;
  }
  conversation_.set_system(text);
  console_.dim("The system message is set for the whole conversation.");
}

void Chat::attach_file(const std::string& path) {
  if (path.empty()) {
    console_.say("/read needs the name of a file.");
    return;
  }
  auto text = read_text(path);
  if (!text) {
    console_.error(text.error().message);
    return;
  }
  console_.dim("{} bytes of {} go before the next message.", format_count(text->size()), path);
  attached_ += *text;
}

void Chat::show_stats() {
  const memory::Memory& memory = engine_.memory();
  console_.say("context   {} of {} tokens", format_count(session_.tokens().size()),
               format_count(session_.context_tokens()));
  console_.say("memory    {} of {}", format_bytes(memory.pool().used_bytes()),
               format_bytes(memory.pool().budget_bytes()));
  if (memory.layout().has_recurrent()) {
    console_.say("rewind    {} log rows at most; at least {} tokens can be taken back at no cost",
                 format_count(memory.reach_rows()), format_count(memory.reach_rows() / 2));
  }
  const memory::MemoryUse use = memory.use();
  console_.say("          {} buffers, {} in {} sequence{}, {} in {} checkpoint{}",
               format_bytes(use.scratch_bytes), format_bytes(use.sequence_bytes), use.sequences,
               use.sequences == 1 ? "" : "s", format_bytes(use.checkpoint_bytes), use.checkpoints,
               use.checkpoints == 1 ? "" : "s");
  console_.say("          {} keys and values, {} of windows, {} states, {} log rows",
               format_bytes(use.page_bytes), format_bytes(use.window_page_bytes),
               format_bytes(use.state_bytes), format_bytes(use.row_bytes));
  console_.say("          {} checkpoints kept so far, {} evicted, {} found no room",
               format_count(use.totals.kept), format_count(use.totals.evicted),
               format_count(use.totals.not_kept));
  for (const auto& tier : engine_.tiers()) {
    const stores::Statistics stored = tier->statistics();
    console_.say("{:<10}{} in {} objects, {} hits, {} misses", tier->name(), format_bytes(stored.size_bytes),
                 stored.objects, stored.hits, stored.misses);
    const stores::QueueStatistics queue = tier->queue_statistics();
    console_.say("          {} written, {} in {} objects wait, {} had to go", format_bytes(stored.put_bytes),
                 format_bytes(queue.size_bytes), queue.objects, queue.given_up + queue.dropped);
  }
  console_.say("prompts   {} tokens reused, {} evaluated", format_count(reused_), format_count(evaluated_));
  console_.say("turns     {} in the tree, at turn {}", conversation_.turn_count(), conversation_.current());
}

void Chat::show_place() {
  if (conversation_.current() == 0) {
    console_.dim("At the start of the conversation.");
    return;
  }
  console_.dim("At turn {}: {}", conversation_.current(), conversation_.place());
}

}  // namespace oxbow::cli
