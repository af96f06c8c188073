// The delta rule. Columns of a head's state are independent, so kDeltaCols of them pass through all rows of a sequence
// while they are in the nearest cache. Bits depend only on the previous rows, not on steps or members.
#pragma once

#include "backend/cpu/step_context.h"
#include "backend/state_store.h"

namespace realizar::cpu {

class DeltaRunner {
 public:
  DeltaRunner(StepContext& step, const StateStore& states) : step_(step), kernels_(step.kernels()), states_(states) {}

  void run(const DeltaRuleOp& op, const Hints&, uint32_t member);

 private:
  void find_shares(const DeltaRuleOp& op, uint32_t row) const;
  void scan_columns(const DeltaRuleOp& op, const BatchSequence& seq, uint32_t head, uint32_t first, uint32_t n) const;

  StepContext& step_;
  const KernelTable& kernels_;
  const StateStore& states_;
};

}  // namespace realizar::cpu
