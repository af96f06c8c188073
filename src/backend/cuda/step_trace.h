// Times of a step's operations, taken by the device between its kernels, with the bytes and products that each needs.
#pragma once

#include <span>
#include <vector>

#include "backend/cuda/command.h"
#include "backend/cuda/device.h"
#include "backend/cuda/weights.h"
#include "backend/op_work.h"

namespace realizar::cuda {

class StepTrace {
 public:
  StepTrace(Device& device, const Weights& weights) : device_(device), weights_(weights) {}

  void begin(const StepBatch& batch, const KvLayout& layout);
  // After the launches of each operation.
  void note(const Command& command);
  // After the device's wait.
  void finish();
  std::span<const OpTiming> timings() const { return timings_; }

 private:
  OpWork work_of(const Command& command) const;
  void add_product(WeightId id, uint64_t n_rows, uint64_t n_mats_read, OpWork& work) const;

  Device& device_;
  const Weights& weights_;
  const StepBatch* batch_ = nullptr;
  KvLayout layout_;
  uint64_t start_ns_ = 0;
  std::vector<OpTiming> timings_;
};

}  // namespace realizar::cuda
