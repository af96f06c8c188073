// Launches of operations on single rows, and of those for sharing between devices.
#pragma once

#include "backend/cuda/step/launchers/launch_context.h"

namespace realizar::cuda {

class RowLauncher {
 public:
  explicit RowLauncher(LaunchContext& context) : context_(context), kernels_(context.kernels()) {}

  void run(const EmbedOp& op, const Launch&);
  void run(const NormOp& op, const Launch& launch);
  void run(const GateOp& op, const Launch&);
  void run(const CutOp& op, const Launch&);
  void run(const AltUpOp& op, const Launch&);
  void run(const SelectRowsOp& op, const Launch&);
  void run(const ChooseOp& op, const Launch&);
  void run(const ClearOp& op, const Launch&);
  void run(const SumPartsOp& op, const Launch&);
  // These end stages (stages.h).
  void run(const JoinOp&, const Launch&) {}
  void run(const CollectOp&, const Launch&) {}
  void run(const SendOp&, const Launch&) {}
  void run(const ReceiveOp&, const Launch&) {}

 private:
  LaunchContext& context_;
  const KernelTable& kernels_;
};

}  // namespace realizar::cuda
