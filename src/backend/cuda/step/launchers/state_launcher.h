// Launches of recurrent layers' operations: on whole sequences, decode and prompt rows alike.
#pragma once

#include "backend/cuda/step/launchers/launch_context.h"
#include "backend/cuda/step/state_planes.h"

namespace realizar::cuda {

class StateLauncher {
 public:
  StateLauncher(LaunchContext& context, const StatePlanes& states)
      : context_(context), kernels_(context.kernels()), states_(states) {}

  void run(const ShortConvOp& op, const Launch&);
  void run(const StateScanOp& op, const Launch&);
  void run(const DeltaRuleOp& op, const Launch&);
  void run(const WkvOp& op, const Launch&);

 private:
  Columns columns(ActId id, uint32_t first_col) const;
  uint32_t max_seqs() const;

  LaunchContext& context_;
  const KernelTable& kernels_;
  const StatePlanes& states_;
};

}  // namespace realizar::cuda
