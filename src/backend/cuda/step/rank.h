// One of the backend's devices: its part of a model, and the launches of its part of a step.
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

  // After the weights; as KvPlanes::create, with n_states slots of states.
  Status create_cache(const KvLayout& common, const LayersHere& layers, const LayerGroups& groups, uint32_t n_sharing,
                      uint32_t n_states);
  // Allocates for a program's steps. Errors: ResourceExhausted.
  Status fit(const ActLayout& acts, const DeviceProgram& program);
  // Before a step: uploads its input.
  void begin(const ActLayout& acts, const DeviceProgram& program, const StepBatch& batch, const StepShape& shape) {
    memory_.begin(acts, program, cache_.common(), batch, shape);
  }
  // Launches a stage; `trace` may be null. Errors: as LayerStream::enter; Internal (the device refuses a launch, or
  // earlier work failed), with the operation and its layer.
  Status run(std::span<const Launch> stage, const StepShape& shape, StepTrace* trace);
  // Run stages as graphs: replay() records a stage on its first use with this program and shape. If recording fails,
  // the stage is launched one by one, now and in later steps of this shape.
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
  const std::vector<GraphCache::StageGraph>* known_ = nullptr;  // for the step's stages here
  size_t n_replayed_ = 0;
  std::vector<GraphCache::StageGraph> recorded_;  // in this step
};

}  // namespace realizar::cuda
