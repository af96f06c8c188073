#include "backend/cuda/rank.h"

#include <utility>

#include "base/counter.h"

namespace realizar::cuda {

void Rank::note_memory() {
  use_.name = device_->name();
  use_.weight_bytes = weights_.bytes();
  use_.kv_bytes = 2 * runner_.kv_plane_bytes();
  use_.total_bytes = device_->total_bytes();
  note_scratch();
}

void Rank::note_scratch() {
  use_.scratch_bytes.store(runner_.scratch_bytes(), std::memory_order_relaxed);
  use_.free_bytes.store(device_->free_bytes(), std::memory_order_relaxed);
}

Status Rank::fit(const ActLayout& acts, std::span<const Command> commands) {
  RZ_CHECK_OK(runner_.fit(acts, commands));
  if (runner_.n_moves() != n_known_moves_) graphs_.forget_all();
  n_known_moves_ = runner_.n_moves();
  note_scratch();
  return device_->wait();
}

void Rank::begin(const ActLayout& acts, const StepBatch& batch, const StepShape& shape) {
  runner_.begin(acts, batch, shape);
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
Status Rank::launch(std::span<const Command> commands, const StepShape& shape, StepTrace* trace) {
  runner_.begin_launches(shape);
  std::optional<uint32_t> current;
  for (size_t i = 0; i < commands.size(); ++i) {
    const auto layer = streamed_layer_of(commands[i]);
    if (layer && layer != current) {
      if (current) RZ_CHECK_OK(weights_.stream().leave(*current));
      RZ_CHECK_OK(weights_.stream().enter(*layer));
      current = layer;
    }
    if (std::holds_alternative<ChooseOp>(commands[i]) && !shape.has_choices) continue;
    runner_.run(commands.subspan(i));
    if (trace != nullptr) trace->note(commands[i]);
  }
  return current ? weights_.stream().leave(*current) : Status{};
}

Status Rank::run(std::span<const Command> commands, const StepShape& shape, StepTrace* trace) {
  RZ_CHECK_OK(launch(commands, shape, trace));
  add_to(use_.n_launches, commands.size());
  use_.n_streamed_bytes.store(weights_.stream().brought_bytes(), std::memory_order_relaxed);
  return {};
}

void Rank::begin_graphs(ProgramId program, const StepShape& shape) {
  // Recordings left over from a step that failed.
  for (const GraphCache::StageGraph graph : recorded_) {
    if (graph) device_->drop(*graph);
  }
  recorded_.clear();
  n_replayed_ = 0;
  known_ = graphs_.find(program, shape);
}

Result<GraphId> Rank::capture(std::span<const Command> commands, const StepShape& shape) {
  RZ_CHECK_OK(device_->begin_capture());
  const Status launched = launch(commands, shape, nullptr);
  Result<GraphId> graph = device_->end_capture();
  RZ_CHECK_OK(launched);
  return graph;
}

// A recording that fails (no memory is left for it, the driver refuses it) costs the step nothing but speed: nothing of
// it has run.
Status Rank::record(std::span<const Command> commands, const StepShape& shape) {
  const Result<GraphId> graph = capture(commands, shape);
  if (!graph.ok() && device_->is_lost()) return graph.error();
  add_to(graph.ok() ? use_.n_captures : use_.n_graph_failures, 1);
  recorded_.push_back(graph.ok() ? GraphCache::StageGraph(*graph) : std::nullopt);
  return {};
}

Status Rank::replay(std::span<const Command> commands, const StepShape& shape) {
  if (known_ == nullptr) RZ_CHECK_OK(record(commands, shape));
  const GraphCache::StageGraph graph = (known_ != nullptr ? *known_ : recorded_)[n_replayed_++];
  if (graph) {
    device_->replay(*graph);
    add_to(use_.n_replays, 1);
    return {};
  }
  return run(commands, shape, nullptr);
}

void Rank::end_graphs(ProgramId program, const StepShape& shape) {
  if (known_ == nullptr) graphs_.keep(program, shape, std::exchange(recorded_, {}));
}

}  // namespace realizar::cuda
