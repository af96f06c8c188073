// The backend of an NVIDIA GPU. Block types are multiplied as int8 with the activations' groups of 32, exactly, and
// summed in F32; plain types in F32. Refused, by name: heads of more than 256 dimensions, more than 512 experts or 32
// chosen.
#pragma once

#include <memory>
#include <optional>

#include "backend/backend.h"
#include "backend/cuda/device.h"

namespace realizar::cuda {

struct CudaOptions {
  uint64_t memory_bytes = 0;             // of the device's memory, for everything; 0: what is free
  uint64_t reserve_bytes = 0;            // of that, what is wanted beside the weights: cache, activations
  uint64_t weight_bytes = 0;             // of the whole model, as far as they are known; 0: not known
  std::optional<uint32_t> n_gpu_layers;  // that stay on the device; absent: as many as fit
};

// Layers that find no place on the device stay in memory of the host, and are brought over each step.
std::unique_ptr<Backend> make_backend(std::unique_ptr<Device> device, const CudaOptions& options);

}  // namespace realizar::cuda
