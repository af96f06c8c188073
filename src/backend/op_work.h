// Minimum reads and arithmetic of operations, for traces.
#pragma once

#include <cstdint>

#include "backend/backend.h"
#include "backend/ops.h"

namespace realizar {

struct OpWork {
  uint64_t bytes = 0;  // of weights and cache
  uint64_t flops = 0;
};

// Number of distinct adapters in the step.
uint64_t n_adapters(const StepBatch& batch);
OpWork attention_work(const AttentionOp& op, const StepBatch& batch, KvType type);

}  // namespace realizar
