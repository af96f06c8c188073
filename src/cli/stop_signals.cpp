#include "cli/stop_signals.h"

namespace realizar::cli {
namespace {

// A signal handler reaches its work through globals only.
std::atomic<bool> stop_wanted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void on_stop(int) {
  stop_wanted.store(true, std::memory_order_relaxed);
}

}  // namespace

StopSignals::StopSignals() {
  stop_wanted = false;
  struct sigaction action {};
  action.sa_handler = on_stop;
  // The flag is looked at between steps; the second signal finds the action from before.
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
