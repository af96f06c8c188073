// What a GPU can do at most, measured now: the limits against which its speed is told.
#pragma once

#include "backend/cuda/device.h"

namespace realizar::cuda {

struct DevicePeaks {
  double copy_gb_per_s = 0;     // bytes read and bytes written, in memory far beyond the caches
  double bf16_gflop_per_s = 0;  // products by mma.sync, from registers
  double int8_gop_per_s = 0;
};

// Takes about a second. Errors: ResourceExhausted (no memory is free for the copies), Internal.
Result<DevicePeaks> measure_peaks(Device& device);

}  // namespace realizar::cuda
