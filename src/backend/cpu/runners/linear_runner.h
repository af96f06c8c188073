// Products with one matrix, and with the two of a gated pair.
#pragma once

#include "backend/cpu/step_context.h"

namespace realizar::cpu {

class LinearRunner {
 public:
  explicit LinearRunner(StepContext& step) : step_(step), kernels_(step.kernels()) {}

  void run(const LinearOp& op, const Hints& hints, uint32_t member);
  void run(const GatedLinearOp& op, const Hints&, uint32_t member);

 private:
  void finish_linear(const LinearOp& op, const RowList& list, uint32_t pair, float* acc) const;

  StepContext& step_;
  const KernelTable& kernels_;
};

}  // namespace realizar::cpu
