#include "backend/cuda/weights/layer_split.h"

#include <algorithm>

namespace realizar::cuda {
namespace {

uint64_t bytes_on(const ModelBytes& model, size_t device, uint32_t n_layers) {
  return (device == 0 ? model.no_layer : 0) + n_layers * std::max<uint64_t>(1, model.each_layer);
}

}  // namespace

std::vector<uint32_t> split_layers(const ModelBytes& model, std::span<const uint64_t> room_bytes) {
  std::vector<uint32_t> n_layers(room_bytes.size(), 0);
  const auto filled_by_one_more = [&](size_t device) {
    const auto n_bytes = static_cast<double>(bytes_on(model, device, n_layers[device] + 1));
    return n_bytes / static_cast<double>(std::max<uint64_t>(1, room_bytes[device]));
  };
  for (uint32_t layer = 0; layer < model.n_layers; ++layer) {
    size_t best = 0;
    for (size_t device = 1; device < room_bytes.size(); ++device) {
      if (filled_by_one_more(device) < filled_by_one_more(best)) best = device;
    }
    ++n_layers[best];
  }
  return n_layers;
}

bool fits(const ModelBytes& model, std::span<const uint64_t> room_bytes) {
  const auto n_layers = split_layers(model, room_bytes);
  for (size_t device = 0; device < room_bytes.size(); ++device) {
    if (bytes_on(model, device, n_layers[device]) > room_bytes[device]) return false;
  }
  return true;
}

}  // namespace realizar::cuda
