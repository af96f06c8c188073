#include "backend/cuda/device_choice.h"

#include <algorithm>
#include <string>

#include "backend/cuda/weights/layer_split.h"
#include "base/try.h"

namespace realizar::cuda {
namespace {

using Devices = std::vector<std::unique_ptr<Device>>;

Result<Devices> open_named(std::span<const uint32_t> named, const OpenDevice& open) {
  Devices devices;
  for (size_t i = 0; i < named.size(); ++i) {
    if (std::ranges::count(named.first(i), named[i]) > 0) {
      return invalid_argument("device: expected each GPU once, actual " + std::to_string(named[i]) + " twice",
                              "device");
    }
    RZ_TRY(auto device, open(named[i]));
    devices.push_back(std::move(device));
  }
  return devices;
}

// Weights outside layers are counted as spread over the layers: their size is not known yet.
bool hold_model(const Devices& devices, const CudaOptions& options) {
  if (options.weight_bytes == 0 || options.n_layers == 0) return true;
  std::vector<uint64_t> room_bytes;
  for (const auto& device : devices) room_bytes.push_back(room_on(*device, options));
  const uint64_t n_bytes = options.weight_bytes + options.kv_bytes;
  return fits({0, (n_bytes + options.n_layers - 1) / options.n_layers, options.n_layers}, room_bytes);
}

}  // namespace

uint64_t room_on(const Device& device, const CudaOptions& options) {
  const uint64_t n_free = device.free_bytes();
  const uint64_t n_bytes = options.memory_bytes > 0 ? std::min(options.memory_bytes, n_free) : n_free;
  return n_bytes - std::min(options.other_bytes, n_bytes);
}

Result<Devices> choose_devices(std::span<const uint32_t> named, uint32_t n_devices, const CudaOptions& options,
                               const OpenDevice& open) {
  if (!named.empty()) return open_named(named, open);
  Devices devices;
  RZ_TRY(auto first, open(0));
  devices.push_back(std::move(first));
  // An explicit number of layers on the GPU means that the others are to be streamed.
  if (options.n_gpu_layers) return devices;
  for (uint32_t idx = 1; idx < n_devices && !hold_model(devices, options); ++idx) {
    if (auto device = open(idx); device.ok()) devices.push_back(std::move(*device));
  }
  return devices;
}

}  // namespace realizar::cuda
