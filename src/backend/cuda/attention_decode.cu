#include "backend/cuda/device_code.h"
#include "backend/cuda/kernels.h"

namespace realizar::cuda::runtime {

// clang-format off
#include "backend/cuda/kv_cache.inl"
#include "backend/cuda/attention_fragments.inl"
#include "backend/cuda/attention_decode.inl"
// clang-format on

}  // namespace realizar::cuda::runtime
