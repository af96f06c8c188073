// AltUp: parallel states of a row. Columns are independent and computed in blocks that the team shares, so the member
// that computes a block does not affect it.
#pragma once

#include "backend/cpu/step_context.h"

namespace realizar::cpu {

class AltUpRunner {
 public:
  explicit AltUpRunner(StepContext& step) : step_(step), kernels_(step.kernels()) {}

  void run(const AltUpOp& op, const Hints&, uint32_t member);

 private:
  float coefficient(const AltUpOp& op, uint32_t row, uint32_t i) const;
  void predict_streams(const AltUpOp& op, uint32_t row, uint32_t first, uint32_t n) const;
  void correct_streams(const AltUpOp& op, uint32_t row, uint32_t first, uint32_t n) const;

  StepContext& step_;
  const KernelTable& kernels_;
};

}  // namespace realizar::cpu
