// Launches of adapters.
#pragma once

#include "backend/cuda/step/launchers/launch_context.h"

namespace realizar::cuda {

class AdapterLauncher {
 public:
  explicit AdapterLauncher(LaunchContext& context) : context_(context), kernels_(context.kernels()) {}

  void run(const AdapterDownOp& op, const Launch&);
  void run(const AdapterUpOp& op, const Launch&);

 private:
  LaunchContext& context_;
  const KernelTable& kernels_;
};

}  // namespace realizar::cuda
