// Which devices a model runs on.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "backend/cuda/cuda_backend.h"
#include "backend/cuda/device/device.h"

namespace realizar::cuda {

// How much of the device's memory is there for weights and cache.
uint64_t room_on(const Device& device, const CudaOptions& options);

using OpenDevice = std::function<Result<std::unique_ptr<Device>>(uint32_t idx)>;
// Opens the devices that are named; where none is, the first, and as many others of n_devices as the model needs.
// Errors: InvalidArgument (one is named twice); those of `open`, but devices that nobody named are then passed over.
Result<std::vector<std::unique_ptr<Device>>> choose_devices(std::span<const uint32_t> named, uint32_t n_devices,
                                                            const CudaOptions& options, const OpenDevice& open);

}  // namespace realizar::cuda
