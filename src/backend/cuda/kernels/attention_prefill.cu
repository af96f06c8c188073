#include "backend/cuda/kernels/device_code.h"
#include "backend/cuda/kernels/kernels.h"

namespace realizar::cuda::runtime {

// clang-format off
#include "backend/cuda/kernels/kv_cache.inl"
#include "backend/cuda/kernels/attention_fragments.inl"
#include "backend/cuda/kernels/attention_lines.inl"
#include "backend/cuda/kernels/attention_prefill.inl"
// clang-format on

}  // namespace realizar::cuda::runtime
