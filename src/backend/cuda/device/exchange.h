// Exchange of parts of sums between devices that share every layer: NCCL, or in tests the processor.
#pragma once

#include <memory>
#include <span>

#include "backend/cuda/device/device.h"
#include "realizar/result.h"

namespace realizar::cuda {

class DeviceExchange {
 public:
  struct Part {
    Device* device;
    const float* from;  // [n_floats]
    float* to;          // [n devices, n_floats]
  };
  virtual ~DeviceExchange() = default;
  // In the order of all streams: copies every `from`, in device order, to each `to`. Nothing is computed, so the bits
  // are always the same. Errors: Internal.
  virtual Status gather(std::span<const Part> parts, size_t n_floats) = 0;
  // The first error of pending exchanges. After one, no further exchange is possible, and no device waits for another
  // in vain. Errors: Internal.
  virtual Status check() = 0;
  // Whether an error was reported.
  virtual bool is_lost() const = 0;
};

}  // namespace realizar::cuda
