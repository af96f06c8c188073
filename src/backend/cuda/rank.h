// One of the backend's devices: what it has of a model, and the launches of its part of a step.
#pragma once

#include <memory>

#include "backend/cuda/graph_cache.h"
#include "backend/cuda/step_runner.h"
#include "backend/cuda/step_trace.h"
#include "backend/cuda/weights.h"

namespace realizar::cuda {

class Rank {
 public:
  // `packers` must outlive it; partial_bytes: as StepRunner has it.
  Rank(std::unique_ptr<Device> device, ThreadTeam& packers, uint64_t partial_bytes)
      : device_(std::move(device)),
        weights_(*device_, packers),
        runner_(*device_, weights_, partial_bytes),
        graphs_(*device_) {}

  Device& device() { return *device_; }
  const Device& device() const { return *device_; }
  Weights& weights() { return weights_; }
  const Weights& weights() const { return weights_; }
  StepRunner& runner() { return runner_; }
  const StepRunner& runner() const { return runner_; }
  const DeviceUse& use() const { return use_; }

  // Once the weights and the cache are there.
  void note_memory();

  // Takes the memory of the steps of these commands, which are all that a program has here. Errors: ResourceExhausted.
  Status fit(const ActLayout& acts, std::span<const Command> commands);
  // Brings the facts of a step's rows to the device.
  void begin(const ActLayout& acts, const StepBatch& batch, const StepShape& shape);
  // Launches commands that follow each other; `trace` is null where there is none. Errors: as LayerStream::enter.
  Status run(std::span<const Command> commands, const StepShape& shape, StepTrace* trace);
  // The same, each time as one graph: replay() records it where the step's are not known yet. Where a recording fails,
  // the commands are launched one by one, then and whenever a step of this shape comes again.
  void begin_graphs(ProgramId program, const StepShape& shape);
  // Errors: Internal (the device is lost, or as run).
  Status replay(std::span<const Command> commands, const StepShape& shape);
  void end_graphs(ProgramId program, const StepShape& shape);

 private:
  void note_scratch();
  std::optional<uint32_t> streamed_layer_of(const Command& command) const;
  Status launch(std::span<const Command> commands, const StepShape& shape, StepTrace* trace);
  Result<GraphId> capture(std::span<const Command> commands, const StepShape& shape);
  Status record(std::span<const Command> commands, const StepShape& shape);

  std::unique_ptr<Device> device_;
  Weights weights_;
  StepRunner runner_;
  GraphCache graphs_;
  DeviceUse use_;
  uint32_t n_known_moves_ = 0;
  const std::vector<GraphCache::StageGraph>* known_ = nullptr;  // of the step's stages here
  size_t n_replayed_ = 0;
  std::vector<GraphCache::StageGraph> recorded_;  // in this step
};

}  // namespace realizar::cuda
