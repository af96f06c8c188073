// A program's operations as commands for the devices: operations that devices share are reduced to each one's part.
// Divided into stages, also where processes that share the program exchange rows.
#pragma once

#include <span>
#include <vector>

#include "backend/cuda/compile/placement.h"
#include "backend/cuda/compile/stages.h"

namespace realizar::cuda {

class StepCommands {
 public:
  // `placement` must outlive it; `part` is the activation for parts of sums of devices that share layers. n_processes:
  // the number of parts of a JoinOp.
  StepCommands(const Placement& placement, size_t n_activations, ActId part, uint32_t n_processes = 1)
      : placement_(&placement), stages_(placement.n_ranks(), n_activations), part_(part), n_processes_(n_processes) {}

  void append(const Op& operation);

  std::span<const Command> all() const { return commands_; }
  std::span<const Command> of(const Stage& stage) const {
    return all().subspan(stage.first_command, stage.end_command - stage.first_command);
  }
  const Stages& stages() const { return stages_; }

 private:
  void append_whole(const Command& command);
  void append_whole(const JoinOp& op);
  void append_whole(const CollectOp& op) { stages_.end_with(op); }
  void append_whole(const SendOp& op) { stages_.end_with(op); }
  void append_whole(const ReceiveOp& op) { stages_.end_with(op); }
  void append_to_all(const Command& command);
  template <class Op>
  void append_shared(const Op& op) {
    append_to_all(op);
  }
  void append_shared(RopeStoreOp op);
  void append_shared(AttentionOp op);
  void append_shared(const LinearOp& op);
  void append_shared(const ExpertsOp& op);
  void append_sum(const SumPartsOp& sum);

  const Placement* placement_;
  std::vector<Command> commands_;
  Stages stages_;
  ActId part_;
  uint32_t n_processes_;
};

}  // namespace realizar::cuda
