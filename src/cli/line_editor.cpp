#include "cli/line_editor.h"

#include <histedit.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cwchar>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/printable.h"
#include "base/utf8.h"
#include "cli/interrupt.h"
#include "cli/output.h"

namespace realizar::cli {

struct LineEditor::Impl {
  FILE* terminal = nullptr;  // null: no editor, lines are read unedited
  EditLine* editor = nullptr;
  History* history = nullptr;
  std::string prompt;
  Completer completer;
  bool marks_pastes = false;
};

namespace {

constexpr int kHistoryLines = 1000;
constexpr char kEndOfInput = '\x04';
constexpr size_t kMaxLineBytes = 16 << 20;  // for input that is not a terminal
constexpr size_t kMaxPasteChars = 1 << 20;

// Asks the terminal to mark pasted text (xterm's "bracketed paste").
constexpr const char* kMarkPastes = "\033[?2004h";
constexpr const char* kMarkNoPastes = "\033[?2004l";
constexpr const char* kPasteBegin = "\\e[200~";  // in libedit's key notation
constexpr std::wstring_view kPasteEnd = L"\033[201~";

constexpr char kStyleMark = '\1';  // encloses invisible parts of a prompt

LineEditor::Impl& impl_of(EditLine* editor) {
  void* client = nullptr;
  el_get(editor, EL_CLIENTDATA, &client);
  return *static_cast<LineEditor::Impl*>(client);
}

const char* current_prompt(EditLine* editor) {
  return impl_of(editor).prompt.c_str();
}

volatile std::sig_atomic_t was_interrupted = 0, was_continued = 0;

void note_interrupt(int) {
  was_interrupted = 1;
}

void note_continued(int) {
  was_continued = 1;
}

// The shell has changed the terminal's mode in the meantime.
void draw_again(EditLine* editor) {
  was_continued = 0;
  el_set(editor, EL_PREP_TERM, 0);
  el_set(editor, EL_PREP_TERM, 1);
  el_set(editor, EL_REFRESH);
}

// Waits for a byte of standard input; 1: read, 0: the input has ended, -1: Ctrl-C, or an error. libedit's own reader
// restarts after a signal; this one stops, so that Ctrl-C ends the line. SIGINT is blocked except during the wait, so
// that none is lost between the check and the read.
// `editor` redraws its line when the program continues after Ctrl-Z; null: none.
int read_byte(char& byte, EditLine* editor) {
  sigset_t none;
  sigemptyset(&none);
  while (true) {
    struct pollfd input {
      STDIN_FILENO, POLLIN, 0
    };
    if (::ppoll(&input, 1, nullptr, &none) < 0) {
      if (was_interrupted) return -1;
      if (was_continued != 0 && editor != nullptr) draw_again(editor);
      continue;
    }
    return static_cast<int>(::read(STDIN_FILENO, &byte, 1));
  }
}

int read_char(EditLine* editor, wchar_t* character) {
  std::mbstate_t state{};
  while (true) {
    char byte = 0;
    const int n = read_byte(byte, editor);
    if (n <= 0) return n;
    if (byte == '\0') byte = kEndOfInput;  // Ctrl-D typed while no line was being read arrives as this
    const size_t n_used = std::mbrtowc(character, &byte, 1, &state);
    if (n_used == static_cast<size_t>(-1)) {
      state = {};  // a byte that belongs to no character is dropped
    } else if (n_used != static_cast<size_t>(-2)) {
      return 1;
    }
  }
}

// Pasted text in the form in which it is inserted in the line: line breaks and tabs stay, other control characters and
// the last line breaks are dropped, so that the user sees the message before sending it.
std::wstring as_inserted(std::wstring_view pasted) {
  std::wstring text;
  for (const wchar_t c : pasted) {
    if (c == L'\n' || c == L'\r') {
      text += L'\n';
    } else if (c == L'\t' || (c >= L' ' && c != L'\177')) {
      text += c;
    }
  }
  while (!text.empty() && text.back() == L'\n') text.pop_back();
  return text;
}

// Called by libedit when a paste begins.
unsigned char take_paste(EditLine* editor, int) {
  std::wstring pasted;
  while (!pasted.ends_with(kPasteEnd)) {
    wchar_t c = 0;
    if (el_wgetc(editor, &c) != 1) return CC_EOF;
    pasted += c;
    if (pasted.size() > kMaxPasteChars) {
      warn("a paste of more than 1,048,576 characters; use /file FILE instead");
      break;
    }
  }
  if (pasted.ends_with(kPasteEnd)) pasted.resize(pasted.size() - kPasteEnd.size());
  el_winsertstr(editor, as_inserted(pasted).c_str());
  return CC_REFRESH;
}

void write_terminal(FILE* terminal, const char* sequence) {
  std::fputs(sequence, terminal);
  std::fflush(terminal);
}

// The common prefix of all words, in whole characters of UTF-8.
std::string common_beginning(const std::vector<std::string>& words) {
  std::string common = words.front();
  for (const std::string& word : words) {
    common.resize(static_cast<size_t>(std::ranges::mismatch(common, word).in1 - common.begin()));
  }
  while (common.size() < words.front().size() && !common.empty() && continues_character(words.front()[common.size()])) {
    common.pop_back();
  }
  return common;
}

// Called by libedit when Tab is pressed.
unsigned char complete_word(EditLine* editor, int) {
  const LineEditor::Impl& impl = impl_of(editor);
  const LineInfo* info = el_line(editor);
  const std::string line(info->buffer, info->cursor);
  std::vector<std::string> words;
  if (impl.completer) words = impl.completer(line);
  if (words.empty()) return el_insertstr(editor, "\t") == 0 ? CC_REFRESH : CC_ERROR;
  const size_t n_typed = line.size() - (line.find_last_of(" \t\n") + 1);
  std::string rest = common_beginning(words).substr(n_typed);
  if (words.size() == 1 && !words.front().ends_with('/')) rest += ' ';
  if (!rest.empty()) return el_insertstr(editor, rest.c_str()) == 0 ? CC_REFRESH : CC_ERROR;
  if (words.size() == 1) return CC_NORM;
  // The words appear below the line, which is redrawn after them.
  std::string list = "\n";
  for (const std::string& word : words) list += printable(word) + "  ";
  write_terminal(impl.terminal, (list + '\n').c_str());
  return CC_REDISPLAY;
}

// While it exists, a signal's handler only sets a flag.
class NotedSignal {
 public:
  NotedSignal(int signal, void (*note)(int)) : signal_(signal) {
    struct sigaction action {};
    action.sa_handler = note;
    sigaction(signal_, &action, &action_before_);
  }
  NotedSignal(const NotedSignal&) = delete;
  NotedSignal& operator=(const NotedSignal&) = delete;
  ~NotedSignal() { sigaction(signal_, &action_before_, nullptr); }

 private:
  int signal_;
  struct sigaction action_before_ {};
};

// While it exists, SIGINT is blocked.
class InterruptibleRead {
 public:
  InterruptibleRead() {
    was_interrupted = 0;
    was_continued = 0;
  }

 private:
  HeldInterrupt held_;
  NotedSignal interrupt_{SIGINT, note_interrupt}, continued_{SIGCONT, note_continued};
};

// The sign is bold, but not the space after it: libedit drops a style that no character follows.
std::string prompt_with_style(const std::string& prompt, int fd) {
  if (!shows_styles(fd)) return prompt;
  const std::string mark(1, kStyleMark);
  return mark + "\033[1m" + mark + prompt.substr(0, prompt.size() - 1) + mark + "\033[0m" + mark + prompt.back();
}

LineStatus read_plain(std::string& line) {
  line.clear();
  char byte = 0;
  int n = 0;
  while ((n = read_byte(byte, nullptr)) == 1 && byte != '\n') {
    line += byte;
    if (line.size() <= kMaxLineBytes) continue;
    warn("a line of more than 16 MB ends the input");
    return LineStatus::kEnd;
  }
  if (was_interrupted) return LineStatus::kInterrupted;
  if (n != 1 && line.empty()) return LineStatus::kEnd;
  if (!line.empty() && line.back() == '\r') line.pop_back();
  line = without_byte_order_mark(std::move(line));
  return LineStatus::kLine;
}

constexpr size_t kMaxEntries = 10'000;  // examined in a folder

}  // namespace

LineEditor::LineEditor(int terminal_fd, const std::vector<std::string>& history) : impl_(std::make_unique<Impl>()) {
  if (terminal_fd < 0) return;
  Impl& impl = *impl_;
  impl.terminal = terminal_fd == STDOUT_FILENO ? stdout : stderr;
  impl.marks_pastes = obeys_escapes(terminal_fd);
  impl.editor = el_init("realizar", stdin, impl.terminal, stderr);
  impl.history = history_init();
  HistEvent event;
  ::history(impl.history, &event, H_SETSIZE, kHistoryLines);
  ::history(impl.history, &event, H_SETUNIQUE, 1);
  el_set(impl.editor, EL_CLIENTDATA, &impl);
  el_set(impl.editor, EL_PROMPT_ESC, current_prompt, kStyleMark);
  el_set(impl.editor, EL_EDITOR, "emacs");
  el_set(impl.editor, EL_HIST, ::history, impl.history);
  el_set(impl.editor, EL_GETCFN, read_char);
  el_set(impl.editor, EL_ADDFN, "realizar-paste", "take a pasted text", take_paste);
  el_set(impl.editor, EL_BIND, kPasteBegin, "realizar-paste", nullptr);
  el_set(impl.editor, EL_ADDFN, "realizar-complete", "complete a word", complete_word);
  el_set(impl.editor, EL_BIND, "^I", "realizar-complete", nullptr);
  // Ctrl-C must not discard output that is being written, or typed-ahead input.
  for (const char* mode : {"-d", "-x"}) el_set(impl.editor, EL_SETTY, mode, "+noflsh", nullptr);
  for (const std::string& line : history) remember(line);
  // Pastes are marked during the whole chat, so that one during an answer is marked too.
  if (impl.marks_pastes) write_terminal(impl.terminal, kMarkPastes);
}

LineEditor::~LineEditor() {
  if (impl_->terminal == nullptr) return;
  if (impl_->marks_pastes) write_terminal(impl_->terminal, kMarkNoPastes);
  history_end(impl_->history);
  el_end(impl_->editor);
}

LineStatus LineEditor::read(const std::string& prompt, std::string& line) {
  const InterruptibleRead interruptible;
  if (impl_->terminal == nullptr) return read_plain(line);
  EditLine* editor = impl_->editor;
  impl_->prompt = prompt_with_style(prompt, fileno(impl_->terminal));
  el_resize(editor);
  el_set(editor, EL_PREP_TERM, 1);  // before the prompt: input typed while it is shown must be read as typed
  int n_chars = 0;
  const char* text = el_gets(editor, &n_chars);
  if (text == nullptr || n_chars <= 0) {
    if (!was_interrupted) return LineStatus::kEnd;
    el_reset(editor);
    return LineStatus::kInterrupted;
  }
  line.assign(text, static_cast<size_t>(n_chars));
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
  return LineStatus::kLine;
}

void LineEditor::complete_by(Completer completer) {
  impl_->completer = std::move(completer);
}

void LineEditor::remember(const std::string& line) {
  HistEvent event;
  if (impl_->history != nullptr && !line.empty()) ::history(impl_->history, &event, H_ENTER, line.c_str());
}

std::vector<std::string> complete_path(std::string_view typed) {
  const size_t n_folder = typed.find_last_of('/') + 1;
  const std::string folder(typed.substr(0, n_folder));
  const std::string_view begun = typed.substr(n_folder);
  std::vector<std::string> paths;
  std::error_code error;
  std::filesystem::directory_iterator entries(folder.empty() ? "." : folder, error);
  for (size_t n = 0; !error && entries != std::filesystem::directory_iterator() && n < kMaxEntries; ++n) {
    const std::string name = entries->path().filename().string();
    const bool is_hidden = name.starts_with('.') && !begun.starts_with('.');
    std::error_code no_folder;
    if (name.starts_with(begun) && !is_hidden) {
      paths.push_back(folder + name + (entries->is_directory(no_folder) ? "/" : ""));
    }
    entries.increment(error);
  }
  std::ranges::sort(paths);
  return paths;
}

}  // namespace realizar::cli
