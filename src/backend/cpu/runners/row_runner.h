// Operations on single rows: embedding, norms, gates, selection of logit rows.
#pragma once

#include "backend/cpu/step_context.h"

namespace realizar::cpu {

class RowRunner {
 public:
  explicit RowRunner(StepContext& step) : step_(step), kernels_(step.kernels()) {}

  void run(const EmbedOp& op, const Hints&, uint32_t member);
  void run(const NormOp& op, const Hints&, uint32_t member);
  void run(const GateOp& op, const Hints&, uint32_t member);
  void run(const CutOp& op, const Hints&, uint32_t member);
  void run(const SelectRowsOp& op, const Hints&, uint32_t member);
  void run(const ChooseOp&, const Hints&, uint32_t) {}  // never planned

 private:
  void gate_row(const GateOp& op, uint32_t row) const;
  void gate_columns(const GateOp& op, uint32_t row) const;

  StepContext& step_;
  const KernelTable& kernels_;
};

}  // namespace realizar::cpu
