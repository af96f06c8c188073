// Traced operations summed by name and phase. Has its full size at once: adding to it allocates nothing.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "backend/backend.h"
#include "realizar/request.h"

namespace realizar::engine {

// Tokens of a step: all that it computed, and those that came of it, which are all but wrong guesses and tokens that
// were computed once more after a preemption.
struct StepTokens {
  uint32_t n_computed = 0, n_came = 0;
};

class OpTable {
 public:
  void add(const StepTokens& tokens, std::span<const OpTiming> timings);
  Trace trace() const;

 private:
  struct Sum {
    uint64_t count = 0, ns = 0, bytes = 0, flops = 0;
  };
  struct Phase {
    uint64_t n_steps = 0, n_came = 0, n_computed = 0;
    std::array<std::array<Sum, kOpRoles>, kOpKinds> sums{};
  };

  static TracePhase total_of(const Phase& phase);
  static void append_rows(const Phase& phase, bool decode, std::vector<TraceRow>& rows);

  Phase prefill_, decode_;
};

}  // namespace realizar::engine
