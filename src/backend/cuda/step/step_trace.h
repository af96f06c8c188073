// Times of a step's operations, taken by their devices between kernels, with the bytes and products that each needs.
// Devices take turns, and their clocks cannot be compared: an operation is told to begin where the one before ends.
#pragma once

#include <span>
#include <vector>

#include "backend/cuda/compile/command.h"
#include "backend/cuda/device/device.h"
#include "backend/cuda/weights/weights.h"
#include "backend/op_work.h"

namespace realizar::cuda {

class StepTrace {
 public:
  void begin(const StepBatch& batch, const KvLayout& layout);
  // The operations that follow run there. Where devices share each of them, the first one's time and part are told.
  void enter(Device& device, const Weights& weights);
  // After the launches of each operation.
  void note(const Command& command);
  // After the devices' waits.
  void finish();
  std::span<const OpTiming> timings() const { return timings_; }

 private:
  OpWork work_of(const Command& command) const;
  void add_product(WeightId id, uint64_t n_rows, uint64_t n_mats_read, OpWork& work) const;

  // What a timing is taken between: this place and the next.
  struct Mark {
    Device* device;
    uint32_t place;
  };

  Device* device_ = nullptr;
  const Weights* weights_ = nullptr;
  const StepBatch* batch_ = nullptr;
  KvLayout layout_;
  uint64_t start_ns_ = 0;
  uint32_t n_places_ = 0;
  std::vector<Mark> marks_;  // of each timing
  std::vector<OpTiming> timings_;
};

}  // namespace realizar::cuda
