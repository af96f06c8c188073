// The traced operations of a model's steps: summed by operation and phase, and one by one.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "engine/op_table.h"
#include "realizar/engine.h"

namespace realizar {

class TraceLog {
 public:
  explicit TraceLog(uint64_t start_ns) : start_ns_(start_ns) {}

  // Any thread, as for all of these.
  void add(const engine::StepTokens& tokens, std::span<const OpTiming> timings);
  void clear();
  Trace trace() const;
  std::vector<TraceEvent> events() const;

 private:
  struct Step {
    uint32_t n_tokens;
    std::vector<OpTiming> timings;
  };

  const uint64_t start_ns_;
  mutable std::mutex mutex_;  // only traced steps take it
  engine::OpTable table_;
  std::vector<Step> steps_;
};

}  // namespace realizar
