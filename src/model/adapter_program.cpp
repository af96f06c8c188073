#include "model/adapter_program.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>

namespace realizar {
namespace {

bool may_be_adapted(const LinearOp& op) {
  return !op.accumulate || op.epilogue.is_linear();
}

bool may_be_adapted(const GatedLinearOp& op) {
  return op.activation != Activation::kClampedSwiglu;  // which changes both factors
}

struct Stacks {
  WeightId down, up, ranks;
};
// Nullopt if adapters do not change the weight.
using FindStacks = std::function<std::optional<Stacks>(WeightId)>;

class AdapterInserter {
 public:
  AdapterInserter(const Program& program, uint32_t max_rank, FindStacks find)
      : from_(program), max_rank_(max_rank), find_(std::move(find)) {
    made_.activations = program.activations;
  }

  Program run() {
    for (const Op& op : from_.ops) {
      if (const auto* linear = std::get_if<LinearOp>(&op)) {
        add(*linear);
      } else if (const auto* gated = std::get_if<GatedLinearOp>(&op)) {
        add(*gated);
      } else {
        end_products();
        made_.add(op);
      }
    }
    end_products();
    return std::move(made_);
  }

 private:
  // The adapter operations of one product.
  struct Added {
    AdapterDownOp down;
    AdapterUpOp up;
  };

  // Products with the same input stay adjacent, before their adapter operations, so that a backend still shares work
  // among them.
  void add(LinearOp op) {
    const bool shares_input =
        !products_.empty() && products_.front().in == op.in && products_.front().rows == op.rows &&
        std::ranges::none_of(products_, [&](const LinearOp& other) { return other.out == op.out; });
    if (!shares_input) end_products();
    const auto stacks = may_be_adapted(op) ? find_(op.weight) : std::nullopt;
    if (stacks) {
      const ActId low = low_for(added_.size(), op.in, op.rows);
      Added added{.down = {.low = low,
                           .in = op.in,
                           .down = stacks->down,
                           .ranks = stacks->ranks,
                           .rows = op.rows,
                           .place = op.place},
                  .up = {.out = op.out,
                         .low = low,
                         .up = stacks->up,
                         .ranks = stacks->ranks,
                         .n_pieces = n_adapter_pieces(n_cols(op.in)),
                         .rows = op.rows,
                         .place = op.place}};
      if (!op.epilogue.is_linear()) {
        added.up.epilogue = std::exchange(op.epilogue, {});
      } else {
        added.down.factor = op.epilogue.scale;
      }
      added_.push_back(added);
    }
    products_.push_back(op);
  }

  // Becomes two products with their adapter operations, and a gate.
  void add(const GatedLinearOp& op) {
    end_products();
    if (!may_be_adapted(op) || (!find_(op.gate) && !find_(op.up))) return made_.add(op);
    const ActId gate = made_.find_or_add_activation("adapted_gate", n_cols(op.out));
    add(LinearOp{
        .out = gate, .in = op.in, .weight = op.gate, .epilogue = {.activation = op.activation}, .place = op.place});
    add(LinearOp{.out = op.out, .in = op.in, .weight = op.up, .place = op.place});
    end_products();
    made_.add(GateOp{.out = op.out, .in = op.out, .gate = gate, .is_factor = true, .place = op.place});
  }

  void end_products() {
    for (const LinearOp& op : products_) made_.add(op);
    for (const Added& added : added_) made_.add(added.down);
    for (const Added& added : added_) made_.add(added.up);
    products_.clear();
    added_.clear();
  }

  uint32_t n_cols(ActId id) const { return made_.activations[static_cast<uint32_t>(id)].n_cols; }

  // Low-rank activation of the pending product `idx`.
  ActId low_for(size_t idx, ActId in, Rows rows) {
    const uint32_t n_low = n_adapter_pieces(n_cols(in)) * max_rank_;
    return made_.find_or_add_activation("low" + std::to_string(idx), n_low, rows);
  }

  const Program& from_;
  const uint32_t max_rank_;
  const FindStacks find_;
  Program made_;
  // Pending products with the same input, and their adapter operations.
  std::vector<LinearOp> products_;
  std::vector<Added> added_;
};

}  // namespace

std::vector<WeightId> adaptable_weights(const Program& program) {
  std::vector<WeightId> weights;
  for (const Op& op : program.ops) {
    const auto* linear = std::get_if<LinearOp>(&op);
    if (linear != nullptr && may_be_adapted(*linear)) weights.push_back(linear->weight);
    const auto* gated = std::get_if<GatedLinearOp>(&op);
    if (gated != nullptr && may_be_adapted(*gated)) weights.insert(weights.end(), {gated->gate, gated->up});
  }
  return weights;
}

Program with_adapters(const Program& program, const AdapterTargets& targets) {
  const auto find = [&](WeightId weight) -> std::optional<Stacks> {
    const AdapterTarget* target = targets.find(weight);
    return target == nullptr ? std::nullopt : std::optional(Stacks{target->down, target->up, target->ranks});
  };
  return AdapterInserter(program, targets.slots().max_rank, find).run();
}

Program outline_with_adapters(const Program& outline, const AdapterSlots& slots) {
  if (slots.n_slots == 0) return outline;
  const auto find = [](WeightId) { return std::optional(Stacks{kNoWeight, kNoWeight, kNoWeight}); };
  return AdapterInserter(outline, slots.max_rank, find).run();
}

}  // namespace realizar
