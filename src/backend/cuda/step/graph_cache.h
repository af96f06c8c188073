// Recorded steps: for each program and shape, the launches of its stages on a device, each replayed as one graph. A
// step's data (tokens, positions, blocks, choices) is in device memory, so a recording outlives requests.
#pragma once

#include <optional>
#include <vector>

#include "backend/backend.h"
#include "backend/cuda/device/device.h"

namespace realizar::cuda {

// Upper bounds on a step for its launches.
struct StepShape {
  uint32_t n_rows = 0, n_decode_rows = 0, n_logit_rows = 0;
  uint64_t n_cuts = 0;       // in the contexts of all decode rows
  bool has_choices = false;  // tokens are chosen
  bool operator==(const StepShape&) const = default;
};
// The shape shared by similar steps: decode rows only, numbers rounded up, within `limits`.
StepShape shared_shape(const StepShape& exact, const BackendLimits& limits);

class GraphCache {
 public:
  explicit GraphCache(Device& device) : device_(device) {}

  // A stage's recording; absent if recording failed, and the stage is launched one by one.
  using StageGraph = std::optional<GraphId>;
  // The recordings of the step's stages; null if there are none. Valid until the next keep or forget_all.
  const std::vector<StageGraph>* find(ProgramId program, const StepShape& shape);
  // Evicts the least recently used step if there are too many.
  void keep(ProgramId program, const StepShape& shape, std::vector<StageGraph> graphs);
  // Invalidates all recordings, since buffers have moved.
  void forget_all();

 private:
  struct Entry {
    ProgramId program;
    StepShape shape;
    std::vector<StageGraph> graphs;
    uint64_t last_use;
  };

  void drop(const Entry& entry);

  Device& device_;
  std::vector<Entry> entries_;
  uint64_t n_uses_ = 0;
};

}  // namespace realizar::cuda
