// Exchanges between ranks that share a program. The first member of the team sends and receives, the whole team adds;
// sums are per element, so the member that computes one does not affect it.
#pragma once

#include "backend/cpu/step_context.h"
#include "backend/row_exchange.h"

namespace realizar::cpu {

class ExchangeRunner {
 public:
  // `exchange`: null if no ranks share programs.
  ExchangeRunner(StepContext& step, Exchange* exchange) : step_(step), kernels_(step.kernels()), exchange_(exchange) {}

  void run(const JoinOp& op, const Hints&, uint32_t member);
  void run(const CollectOp& op, const Hints&, uint32_t member);
  void run(const SendOp& op, const Hints&, uint32_t member);
  void run(const ReceiveOp& op, const Hints&, uint32_t member);

  // Floats for the plan's joins, with the parts of all ranks.
  size_t join_floats(const Plan& plan) const;
  // See RowExchange.
  Status take_status() { return exchange_.take_status(); }
  bool is_lost() const { return exchange_.is_lost(); }

 private:
  void add_parts(const JoinOp& op, Sharing::Range range, uint32_t first, uint32_t n) const;
  std::span<float> rows_of(ActId act, Rows rows) const;

  StepContext& step_;
  const KernelTable& kernels_;
  RowExchange exchange_;
  Sharing::Range join_range_;  // the part of the current join that this rank adds
};

}  // namespace realizar::cpu
