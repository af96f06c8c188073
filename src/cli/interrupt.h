// Ctrl-C while a model generates: stops the generation, not the process. A second Ctrl-C ends the process.
#pragma once

#include "realizar/engine.h"

namespace realizar::cli {

// While it lives, SIGINT (and SIGTERM) cancel `model`'s generation. One at a time.
class InterruptScope {
 public:
  explicit InterruptScope(LanguageModel& model);
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;
  ~InterruptScope();

  bool interrupted() const;
};

}  // namespace realizar::cli
