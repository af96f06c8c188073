// Launches before attention: rotations, and cache writes of keys and values.
#pragma once

#include "backend/cuda/step/kv_planes.h"
#include "backend/cuda/step/launchers/launch_context.h"

namespace realizar::cuda {

class RopeLauncher {
 public:
  RopeLauncher(LaunchContext& context, const KvPlanes& cache)
      : context_(context), kernels_(context.kernels()), cache_(cache) {}

  void run(const RopeStoreOp& op, const Launch&);
  void run(const LatentStoreOp& op, const Launch&);

 private:
  LaunchContext& context_;
  const KernelTable& kernels_;
  const KvPlanes& cache_;
};

}  // namespace realizar::cuda
