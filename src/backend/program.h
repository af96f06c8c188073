// A forward pass as data: activations and an ordered list of operations. A backend compiles it once and runs it on
// every step's batch; nothing in it depends on a step.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "backend/ops.h"

namespace realizar {

// An F32 buffer of [n_rows, n_cols]; not preserved between steps.
struct ActShape {
  std::string name = {};  // where the program is printed
  uint32_t n_cols = 0;
  Rows rows = Rows::kAll;
  bool operator==(const ActShape&) const = default;
};

struct Program {
  std::vector<ActShape> activations;  // an ActId is an index here
  std::vector<Op> ops;
  std::vector<ActId> outputs;  // read after a step

  ActId add_activation(std::string name, uint32_t n_cols, Rows rows = Rows::kAll) {
    activations.push_back({std::move(name), n_cols, rows});
    return ActId{static_cast<uint32_t>(activations.size() - 1)};
  }
  // The activation with this name and shape, added if there is none.
  ActId find_or_add_activation(const std::string& name, uint32_t n_cols, Rows rows = Rows::kAll) {
    const auto found = std::ranges::find(activations, ActShape{name, n_cols, rows});
    if (found == activations.end()) return add_activation(name, n_cols, rows);
    return ActId{static_cast<uint32_t>(found - activations.begin())};
  }
  void add(const Op& op) { ops.push_back(op); }
  bool operator==(const Program&) const = default;
};

using NameWeight = std::function<std::string(WeightId)>;
// One activation per line, as in "normed [rows, 32]", then one operation per line, as in "normed = norm.attn[0](x,
// weight=w3, eps=1e-05)", without fields at their defaults. Weights are named by name_weight, or numbered.
std::string to_string(const Program& program, const NameWeight& name_weight = {});

}  // namespace realizar
