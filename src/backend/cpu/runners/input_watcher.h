// Reports the input rows of matrix products, in place after each operation.
#pragma once

#include <vector>

#include "backend/cpu/runners/expert_runner.h"
#include "backend/cpu/step_context.h"

namespace realizar::cpu {

class InputWatcher {
 public:
  InputWatcher(const StepContext& step, const ExpertRunner& experts) : step_(step), experts_(experts) {}

  void watch(MatrixInputCallback callback) { on_input_ = std::move(callback); }
  bool is_on() const { return static_cast<bool>(on_input_); }

  // For the operation that all members have just finished.
  void show(const LinearOp& op);
  void show(const GatedLinearOp& op);
  void show(const HeadLinearOp& op);
  void show(const ExpertsOp& op);
  template <class OtherOp>
  void show(const OtherOp&) {}

 private:
  void show_rows(ActId in, WeightId weight, const RowList& list);
  void report(WeightId weight, uint32_t mat_idx);

  const StepContext& step_;
  const ExpertRunner& experts_;
  MatrixInputCallback on_input_;      // empty: no watcher
  std::vector<const float*> inputs_;  // rows of the next report
};

}  // namespace realizar::cpu
