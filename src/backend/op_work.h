// What operations have to read and compute at the least, for traces.
#pragma once

#include <cstdint>

#include "backend/backend.h"
#include "backend/ops.h"

namespace realizar {

struct OpWork {
  uint64_t bytes = 0;  // of weights and cache
  uint64_t flops = 0;
};

// Adapters that the step's sequences have, each counted once.
uint64_t n_adapters(const StepBatch& batch);
OpWork attention_work(const AttentionOp& op, const StepBatch& batch, KvType type);

}  // namespace realizar
