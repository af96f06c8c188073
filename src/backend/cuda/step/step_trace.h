// Times of a step's operations, measured on their devices between kernels, with their bytes and arithmetic. Devices
// take turns, and their clocks are not comparable, so an operation is reported to start where the previous one ends.
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
  // Selects the device of the next operations. For shared operations the first device's time and part are reported.
  void enter(Device& device, const Weights& weights);
  // After the launches of each operation.
  void note(const Command& command);
  // After the devices' waits.
  void finish();
  std::span<const OpTiming> timings() const { return timings_; }

 private:
  OpWork work_of(const Command& command) const;
  void add_product(WeightId id, uint64_t n_rows, uint64_t n_mats_read, OpWork& work) const;

  // A timing is measured from this mark to the next.
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
  std::vector<Mark> marks_;  // per timing
  std::vector<OpTiming> timings_;
};

}  // namespace realizar::cuda
