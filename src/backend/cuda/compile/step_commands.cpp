#include "backend/cuda/compile/step_commands.h"

#include "base/check.h"

namespace realizar::cuda {

void StepCommands::append(const Op& operation) {
  std::visit([this](const auto& op) { placement_->is_shared() ? append_shared(op) : append_whole(op); }, operation);
}

void StepCommands::append_whole(const Command& command) {
  stages_.add(command, placement_->rank_of(command));
  commands_.push_back(command);
}

// Each process has one device, which adds the parts after the exchange.
void StepCommands::append_whole(const JoinOp& op) {
  stages_.end_with(GatherParts{op.part});
  append_whole(SumPartsOp{
      .out = op.out, .part = op.part, .n_parts = n_processes_, .accumulate = op.accumulate, .place = op.place});
}

void StepCommands::append_to_all(const Command& command) {
  stages_.add_to_all();
  commands_.push_back(command);
}

void StepCommands::append_shared(RopeStoreOp op) {
  op.n_heads /= placement_->n_ranks();
  op.n_kv_heads /= placement_->n_ranks();
  append_to_all(op);
}

void StepCommands::append_shared(AttentionOp op) {
  op.n_heads /= placement_->n_ranks();
  op.n_kv_heads /= placement_->n_ranks();
  append_to_all(op);
}

void StepCommands::append_shared(const LinearOp& op) {
  if (!placement_->gives_parts(op.weight)) return append_to_all(op);
  REQUIRE(op.epilogue.is_linear() && op.rows == Rows::kAll);
  append_to_all(LinearOp{.out = part_, .in = op.in, .weight = op.weight, .place = op.place});
  append_sum({op.out, part_, placement_->n_ranks(), op.bias, op.accumulate, op.epilogue.scale, op.place});
}

void StepCommands::append_shared(const ExpertsOp& op) {
  if (!placement_->gives_parts(op.down)) return append_to_all(op);
  ExpertsOp part = op;
  part.out = part_;
  append_to_all(ClearOp{part_, op.place});
  append_to_all(part);
  append_sum({.out = op.out, .part = part_, .n_parts = placement_->n_ranks(), .accumulate = true, .place = op.place});
}

void StepCommands::append_sum(const SumPartsOp& sum) {
  stages_.end_with(GatherParts{part_});
  append_to_all(sum);
}

}  // namespace realizar::cuda
