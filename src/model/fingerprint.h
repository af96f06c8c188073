// Hashes of everything that a model's computation depends on: all bytes of its weights, all fields of its config.
#pragma once

#include <cstdint>

#include "formats/model_file.h"
#include "model/model_config.h"

namespace realizar {

// Reads all bytes of the tensor. `previous`: the hash of the tensors before it.
uint64_t hash_of(const TensorInfo& tensor, uint64_t previous);

uint64_t hash_of(const ModelConfig& config);

}  // namespace realizar
