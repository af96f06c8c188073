#include "backend/cuda/rank.h"

namespace realizar::cuda {

Status Rank::begin(const StepBatch& batch) {
  RZ_CHECK_OK(runner_.begin(batch));
  if (runner_.n_moves() != n_known_moves_) graphs_.forget_all();
  n_known_moves_ = runner_.n_moves();
  return {};
}

std::optional<uint32_t> Rank::streamed_layer_of(const Command& command) const {
  const auto first_streamed = [this](std::initializer_list<WeightId> ids) {
    std::optional<uint32_t> layer;
    for (const WeightId id : ids) layer = layer ? layer : weights_.streamed_layer(id);
    return layer;
  };
  if (const auto* linear = std::get_if<LinearOp>(&command)) return first_streamed({linear->weight});
  if (const auto* gated = std::get_if<GatedLinearOp>(&command)) return first_streamed({gated->gate, gated->up});
  if (const auto* experts = std::get_if<ExpertsOp>(&command)) {
    return first_streamed({experts->gate, experts->up, experts->down});
  }
  return std::nullopt;
}

// Operations that need no streamed weights may run within a streamed layer as well as between two.
void Rank::launch(std::span<const Command> commands, const StepShape& shape, StepTrace* trace) {
  runner_.begin_launches(shape);
  std::optional<uint32_t> current;
  for (size_t i = 0; i < commands.size(); ++i) {
    const auto layer = streamed_layer_of(commands[i]);
    if (layer && layer != current) {
      if (current) weights_.stream().leave(*current);
      weights_.stream().enter(*layer);
      current = layer;
    }
    runner_.run(commands.subspan(i));
    if (trace != nullptr) trace->note(commands[i]);
  }
  if (current) weights_.stream().leave(*current);
}

Result<bool> Rank::replay(std::span<const Command> commands, const StepShape& shape) {
  auto graph = graphs_.find(shape, commands);
  const bool is_new = !graph;
  if (is_new) {
    device_->begin_capture();
    launch(commands, shape, nullptr);
    RZ_TRY(graph, device_->end_capture());
    graphs_.keep(shape, commands, *graph);
  }
  device_->replay(*graph);
  return is_new;
}

}  // namespace realizar::cuda
