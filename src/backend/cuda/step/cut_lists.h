// Assignment of attention's blocks to cuts of decode rows: a row has one block per cut of its own context, whatever the
// other contexts' lengths. Cuts depend on the window, so there is one list per window of the model.
#pragma once

#include <bit>
#include <span>

#include "backend/cuda/device/device.h"
#include "backend/cuda/kernels/attention_shape.h"
#include "backend/step_batch.h"

namespace realizar::cuda {

class CutLists {
 public:
  // Size of one list on the device.
  static size_t n_bytes_for(size_t n_places) { return std::bit_ceil(n_places) * sizeof(RowCut); }
  // Errors: ResourceExhausted.
  Status reserve(Device& device, size_t n_lists, size_t n_places);
  // Uploads a list of n_places per window, reserved before; a row's entries are within one pass.
  void upload(Device& device, const StepBatch& batch, std::span<const uint32_t> windows, const DecodePasses& passes,
              size_t n_places);
  size_t n_bytes() const { return n_lists_ * max_places_ * sizeof(RowCut); }  // on the device
  const RowCut* list(size_t idx) const { return device_places_ + idx * max_places_; }

 private:
  void release(Device& device);

  size_t n_lists_ = 0, max_places_ = 0;
  RowCut* host_places_ = nullptr;    // pinned
  RowCut* device_places_ = nullptr;  // [n_lists, max_places]
};

}  // namespace realizar::cuda
