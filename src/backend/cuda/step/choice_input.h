// Choices of a step's tokens for the device: written to pinned memory, and uploaded in one copy.
#pragma once

#include "backend/cuda/device/device.h"
#include "backend/cuda/kernels/kernels.h"

namespace realizar::cuda {

class ChoiceInput {
 public:
  // Errors: ResourceExhausted.
  Status create(Device& device, uint32_t max_rows);
  static size_t n_bytes_for(uint32_t max_rows);  // on the device
  // Whether choose.inl supports the choice; others are left to the caller.
  static bool can_choose(const TokenChoice& choice);
  // Precondition: can_choose() for all that are wanted. Choices whose seen tokens do not fit are left to the caller.
  void upload(Device& device, std::span<const TokenChoice> choices);
  const ChoiceRow* rows() const { return rows_; }
  const SeenToken* seen() const { return seen_; }

 private:
  ChoiceRow* host_rows_ = nullptr;  // [max_rows]
  SeenToken* host_seen_ = nullptr;  // [max_rows * kSeenEachRow], after them
  ChoiceRow* rows_ = nullptr;       // on the device
  SeenToken* seen_ = nullptr;       // on the device
  uint32_t max_seen_ = 0;
};

}  // namespace realizar::cuda
