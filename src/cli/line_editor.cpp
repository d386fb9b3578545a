#include "cli/line_editor.h"

#include <fcntl.h>
#include <histedit.h>
#include <langinfo.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "cli/interrupt.h"
#include "text/unicode.h"

namespace oxbow::cli {
namespace {

constexpr int kHistoryEntries = 1000;
constexpr std::string_view kPasteOn = "\x1b[?2004h";
constexpr std::string_view kPasteOff = "\x1b[?2004l";
constexpr std::wstring_view kPasteEnd = L"\x1b[201~";

volatile std::sig_atomic_t resized = 0;
volatile std::sig_atomic_t continued = 0;

void note_resize(int) {
  resized = 1;
}
void note_continue(int) {
  continued = 1;
}

std::wstring to_wide(std::string_view text) {
  std::wstring wide;
  while (!text.empty()) {
    const auto character = text::decode_character(text);
    wide += static_cast<wchar_t>(character.code_point);
    text.remove_prefix(character.size_bytes);
  }
  return wide;
}

std::string to_utf8(std::wstring_view wide) {
  std::string text;
  for (const wchar_t c : wide) text::append_utf8(text, static_cast<char32_t>(c));
  return text;
}

// libedit asks the locale how wide characters look; it drops what is not ASCII without a UTF-8 one.
void use_utf8_locale() {
  std::setlocale(LC_CTYPE, "");
  if (std::string_view(::nl_langinfo(CODESET)) != "UTF-8") std::setlocale(LC_CTYPE, "C.UTF-8");
}

std::string common_prefix(const std::vector<std::string>& texts) {
  std::string prefix = texts.front();
  for (const std::string& text : texts) {
    prefix.resize(static_cast<size_t>(std::ranges::mismatch(prefix, text).in1 - prefix.begin()));
  }
  prefix.resize(text::valid_utf8_prefix(prefix));
  return prefix;
}

}  // namespace

struct LineEditor::State {
  int output = STDERR_FILENO;
  FILE* stream = nullptr;
  EditLine* editor = nullptr;
  HistoryW* history = nullptr;
  std::string history_path;
  std::string prompt;
  Completer completer;
  struct sigaction old_resize, old_continue;

  static State& of(EditLine* editor) {
    void* state = nullptr;
    ::el_get(editor, EL_CLIENTDATA, &state);
    return *static_cast<State*>(state);
  }

  void write(std::string_view text) const {
    [[maybe_unused]] const auto n = ::write(output, text.data(), text.size());
  }

  // One byte of the terminal: 1, 0 at the end, -1 with errno on errors and interrupts.
  int read_byte(char& byte) {
    for (;;) {
      const ssize_t count = ::read(STDIN_FILENO, &byte, 1);
      if (count >= 0) return static_cast<int>(count);
      if (errno != EINTR || pending_interrupt() != 0) return -1;
      if (resized) {
        resized = 0;
        ::el_resize(editor);
      }
      if (continued) {  // somebody else has set the terminal up meanwhile
        continued = 0;
        ::el_set(editor, EL_PREP_TERM, 0);
        ::el_set(editor, EL_PREP_TERM, 1);
        write(kPasteOn);
        ::el_wset(editor, EL_REFRESH);
      }
    }
  }

  int read_character(wchar_t& out) {
    char bytes[4];
    size_t count = 0;
    do {
      const int result = read_byte(bytes[count]);
      if (result != 1) return result;
      ++count;
      const auto lead = static_cast<unsigned char>(bytes[0]);
      const size_t wanted = lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
      if (count >= wanted) break;
    } while (count < sizeof(bytes));
    out = static_cast<wchar_t>(text::decode_character({bytes, count}).code_point);
    return 1;
  }

  static int get_character(EditLine* editor, wchar_t* out) { return of(editor).read_character(*out); }

  static unsigned char insert_newline(EditLine* editor, int) {
    return ::el_winsertstr(editor, L"\n") == 0 ? CC_REFRESH : CC_ERROR;
  }

  static unsigned char insert_paste(EditLine* editor, int) {
    State& state = of(editor);
    std::wstring pasted;
    while (!pasted.ends_with(kPasteEnd)) {
      wchar_t c = 0;
      if (state.read_character(c) != 1) return CC_EOF;
      pasted += c;
    }
    pasted.resize(pasted.size() - kPasteEnd.size());
    std::wstring text;
    for (size_t i = 0; i < pasted.size(); ++i) {
      const wchar_t c = pasted[i];
      if (c == L'\r' && i + 1 < pasted.size() && pasted[i + 1] == L'\n') continue;
      if (c == L'\r' || c == L'\n')
        text += L'\n';
      else if (c == L'\t')
        text += L"    ";
      else if (c >= 0x20 && !(c >= 0x7F && c < 0xA0))
        text += c;
    }
    if (text.empty()) return CC_NORM;
    return ::el_winsertstr(editor, text.c_str()) == 0 ? CC_REFRESH : CC_ERROR;
  }

  static unsigned char complete(EditLine* editor, int) {
    State& state = of(editor);
    const LineInfoW* line = ::el_wline(editor);
    const std::wstring_view before(line->buffer, static_cast<size_t>(line->cursor - line->buffer));
    const std::string typed = to_utf8(before);
    const auto texts = state.completer ? state.completer(typed) : std::vector<std::string>();
    if (texts.empty()) return CC_REFRESH_BEEP;
    const std::string longest = common_prefix(texts);
    if (longest.size() > typed.size()) {
      ::el_winsertstr(editor, to_wide(std::string_view(longest).substr(typed.size())).c_str());
      return CC_REFRESH;
    }
    std::string list = "\r\n";
    for (const std::string& text : texts) list += text + "  ";
    state.write(list + "\r\n");
    return CC_REDISPLAY;
  }

  static char* get_prompt(EditLine* editor) { return of(editor).prompt.data(); }

  void bind(const char* key, const char* name, const char* help, unsigned char (*function)(EditLine*, int)) {
    ::el_set(editor, EL_ADDFN, name, help, function);
    ::el_set(editor, EL_BIND, key, name, nullptr);
  }

  void open_history() {
    history = ::history_winit();
    HistEventW event;
    ::history_w(history, &event, H_SETSIZE, kHistoryEntries);
    ::history_w(history, &event, H_SETUNIQUE, 1);
    ::el_wset(editor, EL_HIST, history_w, history);
    if (history_path.empty()) return;
    std::error_code error;
    std::filesystem::create_directories(std::filesystem::path(history_path).parent_path(), error);
    const int descriptor = ::open(history_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (descriptor < 0) return history_path.clear();
    ::fchmod(descriptor, 0600);
    ::close(descriptor);
    ::history_w(history, &event, H_LOAD, history_path.c_str());
  }
};

LineEditor::LineEditor(int output_descriptor, const std::string& history_path, Completer completer)
    : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.output = output_descriptor;
  s.history_path = history_path;
  s.completer = std::move(completer);
  use_utf8_locale();
  s.stream = ::fdopen(::dup(output_descriptor), "w");
  s.editor =
      ::el_init_fd("oxbow", stdin, s.stream, s.stream, STDIN_FILENO, output_descriptor, output_descriptor);
  ::el_set(s.editor, EL_CLIENTDATA, &s);
  ::el_set(s.editor, EL_EDITOR, "emacs");
  ::el_set(s.editor, EL_PROMPT, &State::get_prompt);
  ::el_wset(s.editor, EL_GETCFN, &State::get_character);
  s.bind("\\e[200~", "oxbow-paste", "Insert pasted text", &State::insert_paste);
  // The terminal turns the return key's character into a newline.
  for (const char* key : {"\\e\\n", "\\e\\r"})
    s.bind(key, "oxbow-newline", "Begin another line", &State::insert_newline);
  s.bind("^I", "oxbow-complete", "Complete a command", &State::complete);
  ::el_set(s.editor, EL_BIND, "^R", "em-inc-search-prev", nullptr);
  s.open_history();

  struct sigaction action {};
  sigemptyset(&action.sa_mask);
  action.sa_handler = note_resize;
  ::sigaction(SIGWINCH, &action, &s.old_resize);
  action.sa_handler = note_continue;
  ::sigaction(SIGCONT, &action, &s.old_continue);
}

LineEditor::~LineEditor() {
  ::sigaction(SIGWINCH, &state_->old_resize, nullptr);
  ::sigaction(SIGCONT, &state_->old_continue, nullptr);
  ::history_wend(state_->history);
  ::el_end(state_->editor);
  if (state_->stream != nullptr) std::fclose(state_->stream);
}

Line LineEditor::read(const std::string& prompt) {
  State& s = *state_;
  s.prompt = prompt;
  s.write(kPasteOn);
  if (resized) {  // while an answer was written
    resized = 0;
    ::el_resize(s.editor);
  }
  int count = 0;
  const wchar_t* text = ::el_wgets(s.editor, &count);
  s.write(kPasteOff);
  if (text != nullptr) {
    std::wstring_view line(text, static_cast<size_t>(std::max(count, 0)));
    if (line.ends_with(L'\n')) line.remove_suffix(1);
    return {Line::Kind::kText, to_utf8(line)};
  }
  const LineInfoW* left = ::el_wline(s.editor);
  const std::wstring_view line(left->buffer, static_cast<size_t>(left->lastchar - left->buffer));
  if (count < 0 && pending_interrupt() == SIGINT) {
    s.write("^C\n");
    return {Line::Kind::kInterrupted, to_utf8(line)};
  }
  s.write("\n");
  return {Line::Kind::kEnd, {}};
}

void LineEditor::remember(const std::string& text) {
  State& s = *state_;
  HistEventW event;
  ::history_w(s.history, &event, H_ENTER, to_wide(text).c_str());
  if (!s.history_path.empty()) ::history_w(s.history, &event, H_SAVE, s.history_path.c_str());
}

std::string history_path(const char* xdg_state_home, const char* home) {
  namespace fs = std::filesystem;
  if (xdg_state_home != nullptr && *xdg_state_home == '/')
    return (fs::path(xdg_state_home) / "oxbow" / "history").string();
  if (home != nullptr && *home == '/')
    return (fs::path(home) / ".local" / "state" / "oxbow" / "history").string();
  return {};
}

}  // namespace oxbow::cli
