// Ctrl-C while a model generates, or a server is waited for, stops that and not the process. From the third on it ends
// the process.
#pragma once

#include <atomic>
#include <csignal>

#include "realizar/engine.h"

namespace realizar::cli {

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

// While it lives, SIGINT cancels `model`'s generation, or sets the flag. One at a time.
class InterruptScope {
 public:
  explicit InterruptScope(LanguageModel& model);
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

}  // namespace realizar::cli
