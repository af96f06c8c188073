// A forward pass in which rows may have adapters: the same operations, and after products those that add to them.
#pragma once

#include <vector>

#include "backend/program.h"
#include "model/adapter_targets.h"

namespace realizar {

// The weights of products that adapters may add to.
std::vector<WeightId> adaptable_weights(const Program& program);

// The program's activations keep their numbers. A row without an adapter has the bits that it has in `program`.
Program with_adapters(const Program& program, const AdapterTargets& targets);

// The same with room at each product of a program whose weights are not loaded yet, for its size alone.
Program outline_with_adapters(const Program& outline, const AdapterSlots& slots);

}  // namespace realizar
