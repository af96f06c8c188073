// A GPU of device_list.h, opened.
#pragma once

#include <memory>

#include "backend/cuda/device/device.h"
#include "backend/cuda/device/device_list.h"

namespace realizar::cuda {

// Errors: as list_devices; InvalidArgument (no such device); Unsupported (its compute capability is below 8.0).
Result<std::unique_ptr<Device>> open_device(uint32_t idx);

}  // namespace realizar::cuda
