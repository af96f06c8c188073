// What a model's computation depends on, as one number: every byte of its weights, every field of its config.
#pragma once

#include <cstdint>

#include "formats/model_file.h"
#include "model/model_config.h"

namespace realizar {

// Reads all of the tensor's bytes; chained to `previous`, the hash of the tensors before it.
uint64_t hash_of(const TensorInfo& tensor, uint64_t previous);

uint64_t hash_of(const ModelConfig& config);

}  // namespace realizar
