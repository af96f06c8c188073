// Convolutions and selective state spaces. A sequence's rows are processed in order, by independent columns or heads,
// so the bits of a state depend only on the previous rows, not on steps or members.
#pragma once

#include "backend/cpu/step_context.h"
#include "backend/state_store.h"

namespace realizar::cpu {

class StateRunner {
 public:
  StateRunner(StepContext& step, const StateStore& states) : step_(step), kernels_(step.kernels()), states_(states) {}

  void run(const ShortConvOp& op, const Hints&, uint32_t member);
  void run(const StateScanOp& op, const Hints&, uint32_t member);

 private:
  void convolve(const ShortConvOp& op, const BatchSequence& seq, uint32_t first_col, uint32_t end_col) const;
  // Heads [first, end).
  void scan_heads(const StateScanOp& op, const BatchSequence& seq, uint32_t first, uint32_t end) const;
  // Rows [row, row + n_rows), n_rows <= kScanRows.
  void scan_head(const StateScanOp& op, uint32_t row, uint32_t n_rows, uint32_t head, float* state) const;

  StepContext& step_;
  const KernelTable& kernels_;
  const StateStore& states_;
};

}  // namespace realizar::cpu
