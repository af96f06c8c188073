#include "cli/interrupt.h"

#include <atomic>
#include <csignal>

namespace realizar::cli {
namespace {

// A signal handler reaches its work through globals only. Both are lock-free, and cancel() is one atomic store.
std::atomic<LanguageModel*> running_model{nullptr};
std::atomic<bool> was_interrupted{false};

void on_signal(int) {
  was_interrupted = true;
  if (LanguageModel* model = running_model) model->cancel();
}

void install(void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

InterruptScope::InterruptScope(LanguageModel& model) {
  was_interrupted = false;
  running_model = &model;
  install(on_signal, static_cast<int>(SA_RESETHAND));
}

InterruptScope::~InterruptScope() {
  install(SIG_DFL, 0);
  running_model = nullptr;
}

bool InterruptScope::interrupted() const {
  return was_interrupted;
}

}  // namespace realizar::cli
