// The traced operations of a model's steps: summed by operation and phase, and one by one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "realizar/engine.h"

namespace realizar {

class TraceLog {
 public:
  explicit TraceLog(uint64_t start_ns) : start_ns_(start_ns) {}

  void add(std::span<const OpTiming> timings);
  void clear();
  std::vector<TraceRow> table() const;
  std::vector<TraceEvent> events() const;

 private:
  uint64_t start_ns_;
  std::vector<OpTiming> timings_;
};

}  // namespace realizar
