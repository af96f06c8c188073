// Tells whoever measures it by which rows matrices are multiplied. They are where an operation has left them.
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

  // The operation that all members have just finished.
  void show(const LinearOp& op);
  void show(const GatedLinearOp& op);
  void show(const HeadLinearOp& op);
  void show(const ExpertsOp& op);
  template <class OtherOp>
  void show(const OtherOp&) {}

 private:
  void show_rows(ActId in, WeightId weight, const RowList& list);
  void tell(WeightId weight, uint32_t mat_idx);

  const StepContext& step_;
  const ExpertRunner& experts_;
  MatrixInputCallback on_input_;      // empty: nobody watches
  std::vector<const float*> inputs_;  // rows that are shown next
};

}  // namespace realizar::cpu
