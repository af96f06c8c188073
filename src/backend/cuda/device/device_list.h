// The GPUs of this machine. In a program built without CUDA all calls return NotFound with that reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "realizar/result.h"

namespace realizar::cuda {

struct DeviceInfo {
  std::string name;
  size_t free_bytes, total_bytes;
  int major, minor;    // compute capability
  int driver_version;  // 13000: 13.0
};

bool is_built();  // whether the program was built with CUDA

// At least 1. Allocates nothing on the GPUs. Errors: NotFound (no GPU, or no driver); Unsupported (the driver is too
// old, or does not respond).
Result<uint32_t> count_devices();
// Errors: as count_devices.
Result<std::vector<DeviceInfo>> list_devices();

}  // namespace realizar::cuda
