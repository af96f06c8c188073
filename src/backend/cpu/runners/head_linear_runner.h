// Products with one matrix per head.
#pragma once

#include <vector>

#include "backend/cpu/step_context.h"

namespace realizar::cpu {

class HeadLinearRunner {
 public:
  explicit HeadLinearRunner(StepContext& step) : step_(step), kernels_(step.kernels()) {}

  void reserve(const Plan& plan);
  void run(const HeadLinearOp& op, const Hints&, uint32_t member);

 private:
  const float* head_parts(const HeadLinearOp& op, uint32_t n_cols, uint32_t member) const;

  StepContext& step_;
  const KernelTable& kernels_;
  std::vector<uint32_t> slots_;  // [heads, rows]: row * heads + head
};

}  // namespace realizar::cpu
