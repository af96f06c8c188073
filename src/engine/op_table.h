// Traced operations summed by name and phase. Has its full size at once: adding to it allocates nothing.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "backend/backend.h"
#include "realizar/request.h"

namespace realizar::engine {

class OpTable {
 public:
  // A step of n_tokens rows.
  void add(uint32_t n_tokens, std::span<const OpTiming> timings);
  Trace trace() const;

 private:
  struct Sum {
    uint64_t count = 0, ns = 0, bytes = 0, flops = 0;
  };
  struct Phase {
    uint64_t n_steps = 0, n_tokens = 0;
    std::array<std::array<Sum, kOpRoles>, kOpKinds> sums{};
  };

  static TracePhase total_of(const Phase& phase);
  static void append_rows(const Phase& phase, bool decode, std::vector<TraceRow>& rows);

  Phase prefill_, decode_;
};

}  // namespace realizar::engine
