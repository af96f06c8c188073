// Launches the kernels of a plan with the step's arguments, each by the launcher that has a run() for its operation.
#pragma once

#include "backend/cuda/step/launchers/adapter_launcher.h"
#include "backend/cuda/step/launchers/attention_launcher.h"
#include "backend/cuda/step/launchers/expert_launcher.h"
#include "backend/cuda/step/launchers/launch_context.h"
#include "backend/cuda/step/launchers/product_launcher.h"
#include "backend/cuda/step/launchers/rope_launcher.h"
#include "backend/cuda/step/launchers/row_launcher.h"
#include "backend/cuda/step/launchers/state_launcher.h"

namespace realizar::cuda {

class Launcher {
 public:
  // All must outlive it.
  Launcher(Device& device, const Weights& weights, const KvPlanes& cache, const StatePlanes& states, StepMemory& memory)
      : context_(device, weights, memory),
        rows_(context_),
        rope_(context_, cache),
        products_(context_),
        attention_(context_, cache),
        states_(context_, states),
        adapters_(context_),
        experts_(context_) {}
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  // After StepMemory::begin, for a step of at most this shape.
  void launch(const Launch& launch, const StepShape& shape);

 private:
  LaunchContext context_;
  RowLauncher rows_;
  RopeLauncher rope_;
  ProductLauncher products_;
  AttentionLauncher attention_;
  StateLauncher states_;
  AdapterLauncher adapters_;
  ExpertLauncher experts_;
};

}  // namespace realizar::cuda
