// Which devices a model runs on.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "backend/cuda/cuda_backend.h"
#include "backend/cuda/device/device.h"

namespace realizar::cuda {

// Of the device's memory, for weights and cache.
uint64_t room_on(const Device& device, const CudaOptions& options);

using OpenDevice = std::function<Result<std::unique_ptr<Device>>(uint32_t idx)>;
// Those that are named, or where none is, the first and as many others of n_devices as hold the model. Errors:
// InvalidArgument (one is named twice), those of `open` (of others that nobody named: they are passed over).
Result<std::vector<std::unique_ptr<Device>>> choose_devices(std::span<const uint32_t> named, uint32_t n_devices,
                                                            const CudaOptions& options, const OpenDevice& open);

}  // namespace realizar::cuda
