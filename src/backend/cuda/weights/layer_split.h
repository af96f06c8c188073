// Which device takes which layers, where a model is on several.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace realizar::cuda {

// The memory that a model wants, besides what every device needs for itself.
struct ModelBytes {
  uint64_t no_layer = 0;    // of what belongs to no layer; it is on the first device
  uint64_t each_layer = 0;  // with its part of the cache
  uint32_t n_layers = 0;
};

// The number of layers of each device, the first ones on the first. Each layer is counted where it leaves the largest
// share of the device's room free, so all are filled alike, and none too much while another has room.
std::vector<uint32_t> split_layers(const ModelBytes& model, std::span<const uint64_t> room_bytes);
// Whether all of the model finds room so.
bool fits(const ModelBytes& model, std::span<const uint64_t> room_bytes);

}  // namespace realizar::cuda
