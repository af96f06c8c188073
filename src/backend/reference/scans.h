// One step of the recurrent operations: updates the state of head h by row r and computes its output.
#pragma once

#include <cstdint>

#include "backend/recurrent_ops.h"
#include "backend/reference/tensors.h"

namespace realizar::reference {

// state: [head_dim, d_state]
void scan_row(Tensors& tensors, const StateScanOp& op, uint32_t r, uint32_t h, float* state);
// state: [key_dim, value_dim]
void scan_row(Tensors& tensors, const DeltaRuleOp& op, uint32_t r, uint32_t h, float* state);
// state: [head_dim of keys, head_dim of values]
void scan_row(Tensors& tensors, const WkvOp& op, uint32_t r, uint32_t h, float* state);

}  // namespace realizar::reference
