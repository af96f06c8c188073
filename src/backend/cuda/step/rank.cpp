#include "backend/cuda/step/rank.h"

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/counter.h"
#include "base/try.h"

namespace realizar::cuda {

Status Rank::create_cache(const KvLayout& common, const LayersHere& layers, const LayerGroups& groups,
                          uint32_t n_sharing, uint32_t n_states) {
  RZ_CHECK_OK(weights_.finish());
  RZ_CHECK_OK(cache_.create(*device_, common, layers, groups, n_sharing));
  RZ_CHECK_OK(states_.create(*device_, layers, n_states));
  use_.name = device_->name();
  use_.weight_bytes = weights_.bytes();
  use_.kv_bytes = cache_.n_bytes() + states_.n_bytes();
  use_.total_bytes = device_->total_bytes();
  note_memory();
  return {};
}

void Rank::note_memory() {
  use_.scratch_bytes.store(memory_.n_bytes(), std::memory_order_relaxed);
  use_.free_bytes.store(device_->free_bytes(), std::memory_order_relaxed);
}

// Recordings contain addresses of buffers.
Status Rank::fit(const ActLayout& acts, const DeviceProgram& program) {
  RZ_TRY(const bool has_moved, memory_.fit(acts, program, weights_, cache_.common()));
  if (has_moved) graphs_.forget_all();
  note_memory();
  return {};
}

// Returns failures that the device reports by this launch, the last one.
Status Rank::check(const Launch& last, bool is_replayed) {
  std::optional<DeviceFailure> failure = device_->failure();
  if (!failure) return {};
  const OpPlace place = std::visit([](const auto& op) { return place_of(op); }, last.command);
  std::string text = place.layer < 0 ? "" : "layer " + std::to_string(place.layer) + " ";
  text += name_of(kind_of(last.command), place.role);
  if (is_replayed) {
    text = "a recorded step up to " + text;
  } else if (!failure->is_of_call) {
    text += " or an operation before it";
  }
  failure->error.message = text + ": " + failure->error.message;
  return std::move(failure->error);
}

// Operations without streamed weights may run within a streamed layer or between two.
Status Rank::launch(std::span<const Launch> stage, const StepShape& shape, StepTrace* trace) {
  std::optional<uint32_t> current;
  for (const Launch& launch : stage) {
    if (std::holds_alternative<ChooseOp>(launch.command) && !shape.has_choices) continue;
    if (launch.streamed_layer && launch.streamed_layer != current) {
      if (current) RZ_CHECK_OK(weights_.stream().leave(*current));
      RZ_CHECK_OK(weights_.stream().enter(*launch.streamed_layer));
      current = launch.streamed_layer;
    }
    launcher_.launch(launch, shape);
    RZ_CHECK_OK(check(launch));
    if (trace == nullptr) continue;
    trace->note(launch.command);
    for (const LinearOp& other : launch.more) trace->note(other);
  }
  return current ? weights_.stream().leave(*current) : Status{};
}

Status Rank::run(std::span<const Launch> stage, const StepShape& shape, StepTrace* trace) {
  RZ_CHECK_OK(launch(stage, shape, trace));
  uint64_t n_commands = 0;
  for (const Launch& launch : stage) n_commands += launch.n_commands();
  add_to(use_.n_launches, n_commands);
  use_.n_streamed_bytes.store(weights_.stream().copied_bytes(), std::memory_order_relaxed);
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

Result<GraphId> Rank::capture(std::span<const Launch> stage, const StepShape& shape) {
  RZ_CHECK_OK(device_->begin_capture());
  const Status launched = launch(stage, shape, nullptr);
  Result<GraphId> graph = device_->end_capture();
  RZ_CHECK_OK(launched);
  return graph;
}

// A failed recording (no memory for it, the driver refuses it) only costs speed: nothing in it has run.
Status Rank::record(std::span<const Launch> stage, const StepShape& shape) {
  const Result<GraphId> graph = capture(stage, shape);
  if (!graph.ok() && device_->is_lost()) return graph.error();
  add_to(graph.ok() ? use_.n_captures : use_.n_graph_failures, 1);
  recorded_.push_back(graph.ok() ? GraphCache::StageGraph(*graph) : std::nullopt);
  return {};
}

Status Rank::replay(std::span<const Launch> stage, const StepShape& shape) {
  if (known_ == nullptr) RZ_CHECK_OK(record(stage, shape));
  const GraphCache::StageGraph graph = (known_ != nullptr ? *known_ : recorded_)[n_replayed_++];
  if (graph) {
    device_->replay(*graph);
    add_to(use_.n_replays, 1);
    return stage.empty() ? Status() : check(stage.back(), true);
  }
  return run(stage, shape, nullptr);
}

void Rank::end_graphs(ProgramId program, const StepShape& shape) {
  if (known_ == nullptr) graphs_.keep(program, shape, std::exchange(recorded_, {}));
}

}  // namespace realizar::cuda
