// How devices that share every layer bring each other their parts of a sum: NCCL, or in tests the processor.
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
  // In the order of all streams: every `to` holds then what each `from` held, in the order of the devices. Nothing is
  // computed on the way, so the bits depend on nothing. Errors: Internal.
  virtual Status gather(std::span<const Part> parts, size_t n_floats) = 0;
  // The first error of what is under way. After one nothing can be exchanged any more, and no device waits for another
  // in vain. Errors: Internal.
  virtual Status check() = 0;
  // An error was told.
  virtual bool is_lost() const = 0;
};

}  // namespace realizar::cuda
