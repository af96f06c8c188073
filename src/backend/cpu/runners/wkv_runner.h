// RWKV-7's time mix. Columns of a head's state are independent, so kDeltaCols of them pass through all rows of a
// sequence while they are in the nearest cache. Bits depend only on the previous rows, not on steps or members.
#pragma once

#include "backend/cpu/step_context.h"
#include "backend/state_store.h"

namespace realizar::cpu {

class WkvRunner {
 public:
  WkvRunner(StepContext& step, const StateStore& states) : step_(step), kernels_(step.kernels()), states_(states) {}

  void run(const WkvOp& op, const Hints&, uint32_t member);

 private:
  void prepare_row(const WkvOp& op, uint32_t row) const;
  void prepare_head(const WkvOp& op, uint32_t row, size_t at) const;
  void scan_columns(const WkvOp& op, const BatchSequence& seq, uint32_t head, uint32_t first, uint32_t n) const;

  StepContext& step_;
  const KernelTable& kernels_;
  const StateStore& states_;
};

}  // namespace realizar::cpu
