// Peak bandwidth and arithmetic of a GPU, measured now: the limits that its speed is compared with.
#pragma once

#include "backend/cuda/device/device.h"

namespace realizar::cuda {

struct DevicePeaks {
  double copy_gb_per_s = 0;     // bytes read and bytes written, in memory far beyond the caches
  double bf16_gflop_per_s = 0;  // products by mma.sync, from registers
  double int8_gop_per_s = 0;
};

// Two buffers of equal size, as large as free memory allows; freed with the device. Errors: ResourceExhausted.
struct CopyBuffers {
  void *from, *to;
  size_t n_bytes;
};
Result<CopyBuffers> allocate_copy_buffers(Device& device);

// Takes about a second. Errors: ResourceExhausted (no memory is free for the copies), Internal.
Result<DevicePeaks> measure_peaks(Device& device);

}  // namespace realizar::cuda
