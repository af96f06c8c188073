// The backend of an NVIDIA GPU. Block types are multiplied as int8 with the activations' groups of 32, exactly, and
// summed in F32; plain types in F32. Refused, by name: heads of more than 256 dimensions, more than 512 experts or 32
// chosen.
#pragma once

#include <memory>

#include "backend/backend.h"
#include "backend/cuda/device.h"

namespace realizar::cuda {

std::unique_ptr<Backend> make_backend(std::unique_ptr<Device> device);

}  // namespace realizar::cuda
