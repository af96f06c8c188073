// The times of a step's operations, with the bytes and products that each needs.
#pragma once

#include <span>
#include <vector>

#include "backend/cpu/plan.h"
#include "backend/op_work.h"

namespace realizar::cpu {

class OpTrace {
 public:
  // Steps of this many operations allocate nothing.
  void reserve(size_t n_ops);
  void clear() { timings_.clear(); }
  // On one member, before the first operation and after each; n_expert_groups: experts that the operation had rows for,
  // where it is one of experts.
  void start();
  void end(size_t op_idx, size_t n_expert_groups);
  // After the step.
  void finish(const Plan& plan, const StepBatch& batch, const WeightStore& weights, KvType cache_type);
  std::span<const OpTiming> timings() const { return timings_; }

 private:
  struct End {
    uint64_t ns;
    size_t n_expert_groups;
  };
  uint64_t start_ns_ = 0;
  std::vector<End> ends_;  // of each operation
  std::vector<OpTiming> timings_;
};

}  // namespace realizar::cpu
