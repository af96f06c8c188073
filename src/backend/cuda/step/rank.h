// One of the backend's devices: what it has of a model, and the launches of its part of a step.
#pragma once

#include <memory>

#include "backend/cuda/compile/launch_plan.h"
#include "backend/cuda/step/graph_cache.h"
#include "backend/cuda/step/kv_planes.h"
#include "backend/cuda/step/launcher.h"
#include "backend/cuda/step/step_memory.h"
#include "backend/cuda/step/step_trace.h"
#include "backend/cuda/weights/weights.h"

namespace realizar::cuda {

class Rank {
 public:
  // `packers` must outlive it; partial_bytes: as StepMemory.
  Rank(std::unique_ptr<Device> device, ThreadTeam& packers, uint64_t partial_bytes)
      : device_(std::move(device)),
        weights_(*device_, packers),
        memory_(*device_, partial_bytes),
        launcher_(*device_, weights_, cache_, states_, memory_),
        graphs_(*device_) {}

  Device& device() { return *device_; }
  const Device& device() const { return *device_; }
  Weights& weights() { return weights_; }
  const Weights& weights() const { return weights_; }
  const KvPlanes& cache() const { return cache_; }
  const StatePlanes& states() const { return states_; }
  StepMemory& memory() { return memory_; }
  const StepMemory& memory() const { return memory_; }
  const DeviceUse& use() const { return use_; }

  // After the weights; as KvPlanes::create, and the states of as many slots.
  Status create_cache(const KvLayout& common, const LayersHere& layers, const LayerGroups& groups, uint32_t n_sharing,
                      uint32_t n_states);
  // Takes the memory of a program's steps. Errors: ResourceExhausted.
  Status fit(const ActLayout& acts, const DeviceProgram& program);
  // Before a step: brings the facts of its rows to the device.
  void begin(const ActLayout& acts, const DeviceProgram& program, const StepBatch& batch, const StepShape& shape) {
    memory_.begin(acts, program, cache_.common(), batch, shape);
  }
  // Launches a stage; `trace` is null where there is none. Errors: as LayerStream::enter; Internal (the device refuses
  // a launch, or something before it failed), with the operation and its layer.
  Status run(std::span<const Launch> stage, const StepShape& shape, StepTrace* trace);
  // The same, each time as one graph: replay() records it where the program's are not known yet for this shape. Where a
  // recording fails, the stage is launched one by one, then and whenever a step of this shape comes again.
  void begin_graphs(ProgramId program, const StepShape& shape);
  // Errors: Internal (the device is lost, or as run).
  Status replay(std::span<const Launch> stage, const StepShape& shape);
  void end_graphs(ProgramId program, const StepShape& shape);

 private:
  void note_memory();
  Status check(const Launch& last, bool is_replayed = false);
  Status launch(std::span<const Launch> stage, const StepShape& shape, StepTrace* trace);
  Result<GraphId> capture(std::span<const Launch> stage, const StepShape& shape);
  Status record(std::span<const Launch> stage, const StepShape& shape);

  std::unique_ptr<Device> device_;
  Weights weights_;
  KvPlanes cache_;
  StatePlanes states_;
  StepMemory memory_;
  Launcher launcher_;
  GraphCache graphs_;
  DeviceUse use_;
  const std::vector<GraphCache::StageGraph>* known_ = nullptr;  // of the step's stages here
  size_t n_replayed_ = 0;
  std::vector<GraphCache::StageGraph> recorded_;  // in this step
};

}  // namespace realizar::cuda
