#include "backend/cuda/compile/launch_plan.h"

#include <algorithm>

#include "backend/cuda/compile/matrix_traits.h"

namespace realizar::cuda {
namespace {

class LaunchPlanner {
 public:
  LaunchPlanner(std::span<const Command> commands, const Weights& weights, DeviceProgram& program)
      : rest_(commands), weights_(weights), program_(program) {}

  std::vector<Launch> plan() {
    std::vector<Launch> launches;
    while (!rest_.empty()) {
      Launch launch{.command = rest_.front(), .more = {}, .missing = {}, .second_missing = {}};
      rest_ = rest_.subspan(1);
      launch.streamed_layer = streamed_layer_of(launch.command);
      std::visit([&](const auto& op) { plan(op, launch); }, launch.command);
      note_written(launch.command);
      rest_ = rest_.subspan(launch.more.size());
      if (launch.quantizes_out) quantized_of_ = std::get<NormOp>(launch.command).out;
      if (launch.is_paired) quantized_of_ = std::get<GatedLinearOp>(launch.command).out;
      launches.push_back(std::move(launch));
    }
    return launches;
  }

 private:
  void plan(const NormOp& op, Launch& launch) {
    launch.quantizes_out = op.n_groups == 1 && comes_quantized_next(op.out);
  }

  void plan(const LinearOp& op, Launch& launch) {
    launch.missing = missing_of(op.in, op.weight);
    if (!op.accumulate) add_more(op, launch);
  }

  // If gate and up are one launch, quantizing combines their results, for a product that is next and their only reader.
  void plan(const GatedLinearOp& op, Launch& launch) {
    const Matrix &gate = weights_.matrix(op.gate), &up = weights_.matrix(op.up);
    launch.missing = missing_of(op.in, op.gate);
    launch.second_missing = missing_of(op.in, op.up);
    launch.is_paired = uint64_t{gate.n_rows} + up.n_rows <= kMaxMatrixRows && has_groups(gate.type) &&
                       gate.n_rows == up.n_rows && are_alike(op.gate, op.up) && comes_quantized_next(op.out);
  }

  void plan(const ExpertsOp& op, Launch& launch) {
    launch.missing = missing_of(op.in, op.gate);
    launch.second_missing = missing_of(op.in, op.up);
    // They are split only in steps with prompt rows.
    if (launch.missing.split || launch.second_missing.split) split_of_ = kNoAct;
  }

  void plan(const AttentionOp& op, Launch& launch) {
    auto& windows = program_.windows;
    const auto found = std::ranges::find(windows, window_of(op));
    launch.window_idx = static_cast<uint32_t>(found - windows.begin());
    if (found == windows.end()) windows.push_back(window_of(op));
    program_.heads = most_of(program_.heads, op);
  }

  template <class Other>
  void plan(const Other&, Launch&) {}

  // Adds the products after this one that differ only in matrix and output: those of q, k and v.
  void add_more(const LinearOp& op, Launch& launch) {
    uint64_t n_rows = weights_.matrix(op.weight).n_rows;
    while (launch.more.size() < std::min<size_t>(kMaxMoreParts, rest_.size())) {
      const auto* other = std::get_if<LinearOp>(&rest_[launch.more.size()]);
      if (other == nullptr || !are_alike(op.weight, other->weight)) return;
      n_rows += weights_.matrix(other->weight).n_rows;
      if (n_rows > kMaxMatrixRows) return;
      LinearOp same = *other;
      same.out = op.out;
      same.weight = op.weight;
      same.bias = op.bias;
      same.place = op.place;
      if (same != op || other->out == op.in) return;
      launch.more.push_back(*other);
      note_written(*other);
    }
  }

  // Whether one launch can multiply with both.
  bool are_alike(WeightId a, WeightId b) const {
    const Matrix &first = weights_.matrix(a), &second = weights_.matrix(b);
    return first.type == second.type && first.n_cols == second.n_cols &&
           weights_.streamed_layer(a) == weights_.streamed_layer(b);
  }

  // Whether the next command is a product of `in` with a group type.
  bool comes_quantized_next(ActId in) const {
    if (rest_.empty()) return false;
    if (const auto* linear = std::get_if<LinearOp>(&rest_.front())) {
      return linear->in == in && has_groups(weights_.matrix(linear->weight).type);
    }
    const auto* gated = std::get_if<GatedLinearOp>(&rest_.front());
    return gated != nullptr && gated->in == in && has_groups(weights_.matrix(gated->gate).type);
  }

  // The preparation that the product still needs; later products can rely on it.
  Missing missing_of(ActId in, WeightId weight) {
    const TypeId type = weights_.matrix(weight).type;
    const Missing missing{.quantized = has_groups(type) && quantized_of_ != in,
                          .split = wants_split(type) && (split_of_ != in || split_type_ != type)};
    if (missing.quantized) quantized_of_ = in;
    if (missing.split) {
      split_of_ = in;
      split_type_ = type;
    }
    return missing;
  }

  // Invalidates the int8 or split rows of activations that are written.
  void note_written(const Command& command) {
    for (const ActId act : uses_of(command).written) {
      if (act == kNoAct) continue;
      if (act == quantized_of_) quantized_of_ = kNoAct;
      if (act == split_of_) split_of_ = kNoAct;
    }
  }

  std::optional<uint32_t> streamed_layer_of(const Command& command) const {
    for (const WeightId id : uses_of(command).weights) {
      if (id == kNoWeight) continue;
      if (const auto layer = weights_.streamed_layer(id)) return layer;
    }
    return std::nullopt;
  }

  std::span<const Command> rest_;  // after the current command
  const Weights& weights_;
  DeviceProgram& program_;
  ActId quantized_of_ = kNoAct, split_of_ = kNoAct;
  TypeId split_type_ = TypeId::kF32;
};

}  // namespace

std::vector<Launch> plan_launches(std::span<const Command> commands, const Weights& weights, DeviceProgram& program) {
  return LaunchPlanner(commands, weights, program).plan();
}

}  // namespace realizar::cuda
