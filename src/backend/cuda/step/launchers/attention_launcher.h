// Launches of attention: decode rows by their cuts, prompt rows in passes.
#pragma once

#include "backend/cuda/step/kv_planes.h"
#include "backend/cuda/step/launchers/launch_context.h"

namespace realizar::cuda {

class AttentionLauncher {
 public:
  AttentionLauncher(LaunchContext& context, const KvPlanes& cache)
      : context_(context), kernels_(context.kernels()), cache_(cache) {}

  void run(const AttentionOp& op, const Launch& launch);

 private:
  void attend_decode_rows(AttentionArgs args, const Launch& launch);
  void attend_prompt_rows(AttentionArgs args);
  void attend_wide_rows(AttentionArgs args);

  LaunchContext& context_;
  const KernelTable& kernels_;
  const KvPlanes& cache_;
};

}  // namespace realizar::cuda
