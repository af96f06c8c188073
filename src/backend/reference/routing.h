// The choice of experts.
#pragma once

#include <cstdint>

#include "backend/ops.h"
#include "backend/reference/tensors.h"

namespace realizar::reference {

// Computes row r's experts and their weights.
void route_row(Tensors& tensors, const RouteOp& op, uint32_t r);

}  // namespace realizar::reference
