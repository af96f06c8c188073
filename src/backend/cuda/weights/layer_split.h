// Distribution of layers over several devices.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace realizar::cuda {

// The memory that a model needs, apart from each device's own work memory.
struct ModelBytes {
  uint64_t no_layer = 0;    // weights outside layers, on the first device
  uint64_t each_layer = 0;  // with its part of the cache
  uint32_t n_layers = 0;
};

// Number of layers per device, the first ones on the first. Each layer is assigned where it leaves the largest share of
// the device's room free, so that devices fill evenly, and none overflows while another has room.
std::vector<uint32_t> split_layers(const ModelBytes& model, std::span<const uint64_t> room_bytes);
// Whether the whole model fits with this distribution.
bool fits(const ModelBytes& model, std::span<const uint64_t> room_bytes);

}  // namespace realizar::cuda
