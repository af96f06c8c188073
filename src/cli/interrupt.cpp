#include "cli/interrupt.h"

#include <atomic>

namespace realizar::cli {
namespace {

// A user who presses it twice by accident does not lose the conversation; one who keeps pressing wants to quit.
constexpr int kPatience = 2;

// A signal handler can only access globals. All are lock-free, and cancel() is a single atomic store.
std::atomic<LanguageModel*> running_model{nullptr};
std::atomic<Interruptible*> running_work{nullptr};
std::atomic<std::atomic<bool>*> waiting_flag{nullptr};
std::atomic<int> n_interrupts{0};

void on_interrupt(int) {
  if (++n_interrupts == kPatience) std::signal(SIGINT, SIG_DFL);
  if (LanguageModel* model = running_model) model->cancel();
  if (Interruptible* work = running_work) work->cancel();
  if (std::atomic<bool>* flag = waiting_flag) *flag = true;
}

sigset_t interrupt_set() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  return set;
}

std::atomic<bool> stop_wanted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void on_stop(int) {
  stop_wanted.store(true, std::memory_order_relaxed);
}

}  // namespace

HeldInterrupt::HeldInterrupt() {
  const sigset_t interrupt = interrupt_set();
  pthread_sigmask(SIG_BLOCK, &interrupt, &mask_before_);
}

HeldInterrupt::~HeldInterrupt() {
  pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

InterruptScope::InterruptScope(LanguageModel& model) {
  running_model = &model;
  begin();
}

InterruptScope::InterruptScope(Interruptible& work) {
  running_work = &work;
  begin();
}

InterruptScope::InterruptScope(std::atomic<bool>& flag) {
  waiting_flag = &flag;
  begin();
}

void InterruptScope::begin() {
  n_interrupts = 0;
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  sigaction(SIGINT, &action, &action_before_);
  const sigset_t interrupt = interrupt_set();
  pthread_sigmask(SIG_UNBLOCK, &interrupt, &mask_before_);
}

InterruptScope::~InterruptScope() {
  pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
  sigaction(SIGINT, &action_before_, nullptr);
  running_model = nullptr;
  running_work = nullptr;
  waiting_flag = nullptr;
}

bool InterruptScope::interrupted() const {
  return n_interrupts > 0;
}

StopSignals::StopSignals() {
  stop_wanted = false;
  struct sigaction action {};
  action.sa_handler = on_stop;
  // The flag is polled between steps; the second signal gets the previous action.
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &action, &before_[i]);
}

StopSignals::~StopSignals() {
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
}

const std::atomic<bool>& StopSignals::flag() {
  return stop_wanted;
}

}  // namespace realizar::cli
