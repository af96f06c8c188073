// A forward pass as data: activations, and operations on them in their order. A backend compiles it once and runs it on
// every step's batch; nothing in it depends on a step.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "backend/ops.h"

namespace realizar {

// An F32 buffer of [n_rows, n_cols]. It holds nothing from one step to the next.
struct ActShape {
  std::string name = {};  // where the program is printed
  uint32_t n_cols = 0;
  Rows rows = Rows::kAll;
  bool operator==(const ActShape&) const = default;
};

struct Program {
  std::vector<ActShape> activations;  // an ActId is an index here
  std::vector<Op> ops;
  std::vector<ActId> outputs;  // that are read after a step

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
// One activation a line, as in "normed [rows, 32]", then one operation a line, as in
// "normed = norm.attn[0](x, weight=w3, eps=1e-05)": only what differs from the operation's defaults is named.
// Weights are called by name_weight, or by their numbers.
std::string to_string(const Program& program, const NameWeight& name_weight = {});

}  // namespace realizar
