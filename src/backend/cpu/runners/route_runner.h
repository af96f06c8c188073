// Chooses the experts of each row.
#pragma once

#include "backend/cpu/step_context.h"

namespace realizar::cpu {

class RouteRunner {
 public:
  explicit RouteRunner(StepContext& step) : step_(step) {}

  void run(const RouteOp& op, const Hints&, uint32_t member);

 private:
  StepContext& step_;
};

}  // namespace realizar::cpu
