// Times of a step's operations, with their bytes and arithmetic.
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
  // Called by one member before the first operation and after each. n_expert_groups: number of experts with rows, for
  // operations of experts.
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
  std::vector<End> ends_;  // per operation
  std::vector<OpTiming> timings_;
};

}  // namespace realizar::cpu
