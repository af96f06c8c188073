// Traced operations summed by name and phase. Created at full size, so that adding allocates nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "realizar/generation.h"

namespace realizar {
struct OpTiming;
}

namespace realizar::engine {

// Tokens of a step: all that it computed, and those that are useful, which excludes wrong speculative tokens and
// recomputation after a preemption.
struct StepTokens {
  uint32_t n_computed = 0, n_came = 0;
};

// Receives the operations of a step and its tokens.
using StepObserver = std::function<void(const StepTokens& tokens, std::span<const OpTiming> timings)>;

class OpTable {
 public:
  OpTable();

  void add(const StepTokens& tokens, std::span<const OpTiming> timings);
  Trace trace() const;

 private:
  struct Sum {
    uint64_t count = 0, ns = 0, bytes = 0, flops = 0;
  };
  struct Phase {
    uint64_t n_steps = 0, n_came = 0, n_computed = 0;
    std::vector<Sum> sums;  // [kOpKinds, kOpRoles]
  };

  static TracePhase total_of(const Phase& phase);
  static void append_rows(const Phase& phase, bool decode, std::vector<TraceRow>& rows);

  Phase prefill_, decode_;
};

}  // namespace realizar::engine
