#include "cli/line_editor.h"

#include <histedit.h>

#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdio>

namespace realizar::cli {

struct LineEditor::Impl {
  EditLine* editor = nullptr;
  History* history = nullptr;
  const char* prompt = "";
};

namespace {

constexpr int kHistoryLines = 1000;

const char* current_prompt(EditLine* editor) {
  void* client = nullptr;
  el_get(editor, EL_CLIENTDATA, &client);
  return static_cast<LineEditor::Impl*>(client)->prompt;
}

void on_interrupt(int) {}

// While it lives, SIGINT does nothing but interrupt the read that waits for input.
class InterruptibleRead {
 public:
  InterruptibleRead() {
    struct sigaction action {};
    action.sa_handler = on_interrupt;  // no SA_RESTART: the read returns EINTR
    sigaction(SIGINT, &action, &before_);
  }
  InterruptibleRead(const InterruptibleRead&) = delete;
  InterruptibleRead& operator=(const InterruptibleRead&) = delete;
  ~InterruptibleRead() { sigaction(SIGINT, &before_, nullptr); }

 private:
  struct sigaction before_ {};
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
  el_set(impl_->editor, EL_SIGNAL, 1);
}

LineEditor::~LineEditor() {
  history_end(impl_->history);
  el_end(impl_->editor);
}

LineStatus LineEditor::read(const char* prompt, std::string& line) {
  impl_->prompt = prompt;
  const InterruptibleRead interruptible;
  int n_chars = 0;
  errno = 0;
  const char* text = el_gets(impl_->editor, &n_chars);
  if (text == nullptr || n_chars <= 0) {
    if (errno != EINTR) return LineStatus::kEnd;
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
