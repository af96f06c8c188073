// Choice of the devices that a model runs on.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "backend/cuda/cuda_backend.h"
#include "backend/cuda/device/device.h"

namespace realizar::cuda {

// Device memory available for weights and cache.
uint64_t room_on(const Device& device, const CudaOptions& options);

using OpenDevice = std::function<Result<std::unique_ptr<Device>>(uint32_t idx)>;
// Opens the named devices, or without names the first one and as many of the other n_devices as the model needs.
// Errors: InvalidArgument (a device is named twice); those of `open`, but unnamed devices that fail are skipped.
Result<std::vector<std::unique_ptr<Device>>> choose_devices(std::span<const uint32_t> named, uint32_t n_devices,
                                                            const CudaOptions& options, const OpenDevice& open);

}  // namespace realizar::cuda
