// How the tokens of a step are chosen, on its way to the device: written into pinned memory, and uploaded in one copy.
#pragma once

#include "backend/cuda/device/device.h"
#include "backend/cuda/kernels/kernels.h"

namespace realizar::cuda {

class ChoiceInput {
 public:
  // Errors: ResourceExhausted.
  Status create(Device& device, uint32_t max_rows);
  static size_t n_bytes_for(uint32_t max_rows);  // on the device
  // Whether choose.inl chooses so; the rest is left to the caller.
  static bool can_choose(const TokenChoice& choice);
  // Precondition: can_choose() of all that are wanted. A choice whose seen tokens find no place is left to the
  // caller as well.
  void upload(Device& device, std::span<const TokenChoice> choices);
  const ChoiceRow* rows() const { return rows_; }
  const SeenToken* seen() const { return seen_; }

 private:
  ChoiceRow* host_rows_ = nullptr;  // [max_rows]
  SeenToken* host_seen_ = nullptr;  // [max_rows * kSeenEachRow], after them
  ChoiceRow* rows_ = nullptr;       // the same on the device
  SeenToken* seen_ = nullptr;       // the same on the device
  uint32_t max_seen_ = 0;
};

}  // namespace realizar::cuda
