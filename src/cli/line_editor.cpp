#include "cli/line_editor.h"

#include <histedit.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cwchar>

#include "cli/interrupt.h"

namespace realizar::cli {

struct LineEditor::Impl {
  EditLine* editor = nullptr;
  History* history = nullptr;
  const char* prompt = "";
};

namespace {

constexpr int kHistoryLines = 1000;
constexpr char kEndOfInput = '\x04';

const char* current_prompt(EditLine* editor) {
  void* client = nullptr;
  el_get(editor, EL_CLIENTDATA, &client);
  return static_cast<LineEditor::Impl*>(client)->prompt;
}

volatile std::sig_atomic_t was_interrupted = 0;

void note_interrupt(int) {
  was_interrupted = 1;
}

// libedit's own reader starts again after a signal; this one gives up, so that Ctrl-C ends the line. SIGINT is held but
// for the wait, so that none is lost between the check and the read.
int read_char(EditLine*, wchar_t* character) {
  std::mbstate_t state{};
  sigset_t none;
  sigemptyset(&none);
  while (true) {
    struct pollfd input {
      STDIN_FILENO, POLLIN, 0
    };
    if (::ppoll(&input, 1, nullptr, &none) < 0) {
      if (was_interrupted) return -1;
      continue;
    }
    char byte = 0;
    const ssize_t n = ::read(STDIN_FILENO, &byte, 1);
    if (n <= 0) return static_cast<int>(n);
    if (byte == '\0') byte = kEndOfInput;  // what Ctrl-D, typed while no line was read, becomes when one is
    const size_t n_used = std::mbrtowc(character, &byte, 1, &state);
    if (n_used == static_cast<size_t>(-1)) {
      state = {};  // a byte of no character is dropped
    } else if (n_used != static_cast<size_t>(-2)) {
      return 1;
    }
  }
}

// While it lives, SIGINT is held, and its handler only takes note.
class InterruptibleRead {
 public:
  InterruptibleRead() {
    was_interrupted = 0;
    struct sigaction action {};
    action.sa_handler = note_interrupt;
    sigaction(SIGINT, &action, &action_before_);
  }
  InterruptibleRead(const InterruptibleRead&) = delete;
  InterruptibleRead& operator=(const InterruptibleRead&) = delete;
  ~InterruptibleRead() { sigaction(SIGINT, &action_before_, nullptr); }

 private:
  HeldInterrupt held_;
  struct sigaction action_before_ {};
};

}  // namespace

LineEditor::LineEditor() : impl_(std::make_unique<Impl>()) {
  std::setlocale(LC_CTYPE, "");  // libedit reads multi-byte characters by the locale
  impl_->editor = el_init("realizar", stdin, stdout, stderr);
  impl_->history = history_init();
  HistEvent event;
  history(impl_->history, &event, H_SETSIZE, kHistoryLines);
  el_set(impl_->editor, EL_CLIENTDATA, impl_.get());
  el_set(impl_->editor, EL_PROMPT, current_prompt);
  el_set(impl_->editor, EL_EDITOR, "emacs");
  el_set(impl_->editor, EL_HIST, history, impl_->history);
  el_set(impl_->editor, EL_GETCFN, read_char);
  // Ctrl-C must not take what is being written, or typed ahead, with it.
  for (const char* mode : {"-d", "-x"}) el_set(impl_->editor, EL_SETTY, mode, "+noflsh", nullptr);
}

LineEditor::~LineEditor() {
  history_end(impl_->history);
  el_end(impl_->editor);
}

LineStatus LineEditor::read(const char* prompt, std::string& line) {
  impl_->prompt = prompt;
  const InterruptibleRead interruptible;
  el_set(impl_->editor, EL_PREP_TERM, 1);  // before the prompt: what is typed when it shows must be read as typed
  int n_chars = 0;
  const char* text = el_gets(impl_->editor, &n_chars);
  if (text == nullptr || n_chars <= 0) {
    if (!was_interrupted) return LineStatus::kEnd;
    el_reset(impl_->editor);
    return LineStatus::kInterrupted;
  }
  line.assign(text, static_cast<size_t>(n_chars));
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
  HistEvent event;
  if (!line.empty()) history(impl_->history, &event, H_ENTER, line.c_str());
  return LineStatus::kLine;
}

}  // namespace realizar::cli
