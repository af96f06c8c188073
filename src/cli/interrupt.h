// Ctrl-C while a model generates, or a server is waited for, stops that and not the process. From the third on it ends
// the process.
#pragma once

#include <array>
#include <atomic>
#include <csignal>

#include "realizar/engine.h"

namespace realizar::cli {

// Work that Ctrl-C ends.
class Interruptible {
 public:
  virtual ~Interruptible() = default;
  virtual void cancel() noexcept = 0;  // from a signal's handler
};

// While it lives, SIGINT waits for the next InterruptScope or LineEditor::read(), so that none ends the process.
class HeldInterrupt {
 public:
  HeldInterrupt();
  HeldInterrupt(const HeldInterrupt&) = delete;
  HeldInterrupt& operator=(const HeldInterrupt&) = delete;
  ~HeldInterrupt();

 private:
  sigset_t mask_before_{};
};

// While it lives, SIGINT cancels `model`'s generation or `work`, or sets the flag. One at a time.
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

// Ctrl-C, a terminal that closes and a request to end let a command that writes files finish its step and clean up. A
// second one ends the process.
// While it lives, SIGINT, SIGTERM and SIGHUP set a flag. One at a time.
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
