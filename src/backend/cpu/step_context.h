// State that the runners share during a step: the current plan and batch, activations and weights, and the team. Every
// member runs every operation, takes its items from a shared counter, and waits at a barrier where an operation or the
// plan requires it. An item's result does not depend on the member that computes it.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "backend/cpu/plan.h"
#include "backend/cpu/scratch.h"
#include "base/thread_team.h"

namespace realizar::cpu {

class StepContext {
 public:
  // All must outlive it.
  StepContext(const KernelTable& kernels, ThreadTeam& team, const WeightStore& weights)
      : kernels_(kernels), team_(team), weights_(weights), scratch_(kernels), phases_(team.size()) {}

  void configure(const BackendLimits& limits);
  // Allocates for the plan's steps, with join_floats floats for joins. Errors: ResourceExhausted.
  Status fit(const Plan& plan, size_t join_floats);
  // The plan must live until its results are read.
  void begin(const Plan& plan, const StepBatch& batch);

  const KernelTable& kernels() const { return kernels_; }
  const WeightStore& weights() const { return weights_; }
  const BackendLimits& limits() const { return limits_; }
  const Plan& plan() const { return *plan_; }
  const StepBatch& batch() const { return *batch_; }
  const BatchSequence& seq_of(uint32_t row) const;
  Scratch& scratch() { return scratch_; }
  const Scratch& scratch() const { return scratch_; }

  const PackedMatrix& matrix(WeightId id) const { return weights_.matrix(id); }
  const float* vector(WeightId id) const { return weights_.vector(id); }  // null for kNoWeight
  float* act(ActId id, uint32_t row = 0) const {
    const ActPlace& place = plan_->acts[id];
    return reinterpret_cast<float*>(scratch_.activations() + place.offset) + size_t{row} * place.n_cols;
  }
  uint32_t n_cols(ActId id) const { return plan_->acts[id].n_cols; }
  RowList row_list(Rows rows) const { return rows == Rows::kAll ? all_rows_ : logit_rows_; }
  // 0, 1, 2, ...: the row list of all rows, or of all slots.
  const uint32_t* identity() const { return identity_.data(); }

  uint32_t n_members() const { return team_.size(); }
  // Every member calls body(member).
  template <class Body>
  void run_team(Body body) {
    team_.run(body);
  }
  void begin_op(uint32_t op_idx, uint32_t member) { phases_[member].n_loops = op_idx * kLoopsPerOp; }
  void barrier(uint32_t member) { team_.barrier(member); }
  // Calls body(i) for each i < n, distributed over the team; every member must enter the same loops.
  template <class Body>
  void share(uint32_t n, uint32_t member, const Body& body) {
    share_work(&taken_[size_t{phases_[member].n_loops++} * team_.size()], n, member, team_.size(), body);
  }

 private:
  static constexpr uint32_t kLoopsPerOp = 7;

  // A member's progress in a step, on its own cache line.
  struct alignas(64) Phase {
    uint32_t n_loops = 0;  // entered
  };

  const KernelTable& kernels_;
  ThreadTeam& team_;
  const WeightStore& weights_;
  BackendLimits limits_;
  Scratch scratch_;
  std::vector<Phase> phases_;
  std::unique_ptr<std::atomic<uint32_t>[]> taken_;  // per loop and member, see share_work
  size_t n_ops_ = 0;                                // size of taken_
  std::vector<uint32_t> identity_;

  // Valid during the current step; the plan and the row lists also after it, when the batch is gone.
  const Plan* plan_ = nullptr;
  const StepBatch* batch_ = nullptr;
  RowList all_rows_{}, logit_rows_{};
};

}  // namespace realizar::cpu
