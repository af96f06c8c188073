// Recorded steps: of each program and shape the launches of its stages on a device, each to be replayed as one. What a
// step's rows are (tokens, positions, blocks, how to choose) lies in the device's memory, so a recording outlives
// requests.
#pragma once

#include <optional>
#include <vector>

#include "backend/backend.h"
#include "backend/cuda/device/device.h"

namespace realizar::cuda {

// The most of each that a step's launches may find.
struct StepShape {
  uint32_t n_rows = 0, n_decode_rows = 0, n_logit_rows = 0;
  uint64_t n_cuts = 0;       // of the contexts of all decode rows together
  bool has_choices = false;  // tokens are chosen
  bool operator==(const StepShape&) const = default;
};
// The shape that steps like this one share: decode rows alone, numbers rounded up, to no more than `limits`.
StepShape shared_shape(const StepShape& exact, const BackendLimits& limits);

class GraphCache {
 public:
  explicit GraphCache(Device& device) : device_(device) {}

  // A stage's recording; absent where it could not be made, and the stage is launched one by one.
  using StageGraph = std::optional<GraphId>;
  // The recordings of the step's stages; null where none are kept. Valid until the next keep or forget_all.
  const std::vector<StageGraph>* find(ProgramId program, const StepShape& shape);
  // Forgets the step that was not used for longest, where there are too many.
  void keep(ProgramId program, const StepShape& shape, std::vector<StageGraph> graphs);
  // Buffers have moved: no recording holds any longer.
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
