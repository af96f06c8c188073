// NVIDIA's library for exchanges between GPUs, found when the program runs.
#pragma once

#include "backend/cuda/device/exchange.h"

namespace realizar::cuda {

// Between these GPUs, in this order, each named once. Errors: NotFound (the library is not there), Internal.
Result<std::unique_ptr<DeviceExchange>> open_nccl(std::span<const uint32_t> devices);

}  // namespace realizar::cuda
