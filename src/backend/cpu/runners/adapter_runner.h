// Adds low-rank adapters to products: directly from F32 panels, for prefill and decode rows alike.
#pragma once

#include "backend/cpu/runners/adapter_rows.h"
#include "backend/cpu/step_context.h"

namespace realizar::cpu {

class AdapterRunner {
 public:
  explicit AdapterRunner(StepContext& step) : step_(step), kernels_(step.kernels()) {}

  void reserve(const Plan& plan);
  void begin_step();
  void run(const AdapterDownOp& op, const Hints&, uint32_t member);
  void run(const AdapterUpOp& op, const Hints&, uint32_t member);

 private:
  uint32_t rank_of(WeightId ranks, const AdapterBlock& block) const;
  void multiply_piece(const AdapterDownOp& op, const AdapterBlock& block, uint32_t panel, uint32_t piece) const;
  void add_up(const AdapterUpOp& op, const AdapterBlock& block, uint32_t begin, uint32_t first, uint32_t n) const;
  const AdapterRows& list_of(Rows rows) const { return rows == Rows::kAll ? all_rows_ : logit_rows_; }

  StepContext& step_;
  const KernelTable& kernels_;
  AdapterRows all_rows_, logit_rows_;  // used if the plan has adapters
};

}  // namespace realizar::cpu
