// Ctrl-C while a model generates, or while waiting for a server, stops that and not the process. From the third time on
// it ends the process.
#pragma once

#include <array>
#include <atomic>
#include <csignal>

#include "realizar/engine.h"

namespace realizar::cli {

// Work that Ctrl-C can end.
class Interruptible {
 public:
  virtual ~Interruptible() = default;
  virtual void cancel() noexcept = 0;  // called from a signal handler
};

// While it exists, SIGINT is held for the next InterruptScope or LineEditor::read(), so that it does not end the
// process.
class HeldInterrupt {
 public:
  HeldInterrupt();
  HeldInterrupt(const HeldInterrupt&) = delete;
  HeldInterrupt& operator=(const HeldInterrupt&) = delete;
  ~HeldInterrupt();

 private:
  sigset_t mask_before_{};
};

// While it exists, SIGINT cancels `model`'s generation or `work`, or sets the flag. One at a time.
class InterruptScope {
 public:
  explicit InterruptScope(LanguageModel& model);
  explicit InterruptScope(Interruptible& work);
  explicit InterruptScope(std::atomic<bool>& flag);
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;
  ~InterruptScope();

  bool interrupted() const;

 private:
  void begin();

  struct sigaction action_before_ {};
  sigset_t mask_before_{};
};

// On Ctrl-C, a closed terminal or a request to end, a command that writes files finishes its step and cleans up. A
// second signal ends the process.
// While it exists, SIGINT, SIGTERM and SIGHUP set a flag. One at a time.
class StopSignals {
 public:
  StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals();

  static const std::atomic<bool>& flag();

 private:
  static constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction before_[kSignals.size()]{};
};

}  // namespace realizar::cli
