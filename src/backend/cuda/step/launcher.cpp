#include "backend/cuda/step/launcher.h"

#include "backend/dispatch.h"

namespace realizar::cuda {

void Launcher::launch(const Launch& launch, const StepShape& shape) {
  context_.begin(shape);
  const auto launchers = std::tie(rows_, rope_, products_, attention_, states_, adapters_, experts_);
  std::visit([&](const auto& op) { run_by_one_of(launchers, op, launch); }, launch.command);
}

}  // namespace realizar::cuda
