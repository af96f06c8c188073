// Recurrent states in device memory: slots, each with all parts of all layers on this device in order. The layout of a
// slot does not depend on the distribution of layers.
#pragma once

#include <cstddef>
#include <vector>

#include "backend/cuda/device/device.h"
#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/step/kv_planes.h"

namespace realizar::cuda {

class StatePlanes {
 public:
  // Errors: ResourceExhausted.
  Status create(Device& device, const LayersHere& layers, uint32_t n_states);

  size_t slot_bytes() const { return slot_bytes_; }
  size_t n_bytes() const { return n_states_ * slot_bytes_; }
  uint8_t* slot(StateId id) const { return first_ + static_cast<size_t>(id) * slot_bytes_; }
  // A part of a layer's state.
  StateView view(uint32_t layer, uint32_t part) const {
    return {first_ + offsets_[layer - first_layer_][part], slot_bytes_};
  }

 private:
  std::vector<std::vector<size_t>> offsets_;  // [layers here, parts of each] in a slot
  uint32_t first_layer_ = 0;
  size_t n_states_ = 0, slot_bytes_ = 0;
  uint8_t* first_ = nullptr;
};

}  // namespace realizar::cuda
