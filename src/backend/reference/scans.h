// One step of the operations that keep a state: what head h of row r does to its part of the state, and gives out.
#pragma once

#include <cstdint>

#include "backend/recurrent_ops.h"
#include "backend/reference/tensors.h"

namespace realizar::reference {

// state: [head_dim, d_state]
void scan_row(Tensors& tensors, const StateScanOp& op, uint32_t r, uint32_t h, float* state);
// state: [key_dim, value_dim]
void scan_row(Tensors& tensors, const DeltaRuleOp& op, uint32_t r, uint32_t h, float* state);
// state: [head_dim of a key, head_dim of a value]
void scan_row(Tensors& tensors, const WkvOp& op, uint32_t r, uint32_t h, float* state);

}  // namespace realizar::reference
