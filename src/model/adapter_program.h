// A forward pass in which rows may have adapters: the same operations, with adapter operations after products.
#pragma once

#include <vector>

#include "backend/program.h"
#include "model/adapter_targets.h"

namespace realizar {

// Weights of the products that adapters can change.
std::vector<WeightId> adaptable_weights(const Program& program);

// Activations keep their ids. Rows without an adapter have the same bits as in `program`.
Program with_adapters(const Program& program, const AdapterTargets& targets);

// The size of with_adapters() before weights are loaded: adapters at every product.
Program outline_with_adapters(const Program& outline, const AdapterSlots& slots);

}  // namespace realizar
