#include "api/memory_needs.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "backend/cuda/compile/bounds.h"
#include "backend/cuda/cuda_backend.h"
#include "backend/cuda/device/device_list.h"
#include "backend/kv_types.h"
#include "base/machine.h"
#include "base/try.h"
#include "engine/cache_sizes.h"
#include "model/adapter_program.h"
#include "model/forward.h"

namespace realizar {
namespace {

std::vector<TypeId> tensor_types(const ModelFile& file) {
  std::vector<TypeId> types;
  for (const TensorInfo& tensor : file.tensors()) {
    if (std::ranges::find(types, tensor.type) == types.end()) types.push_back(tensor.type);
  }
  return types;
}

}  // namespace

uint64_t kv_bytes(const ModelConfig& config, const engine::EngineOptions& options) {
  return cache_bytes(engine::cache_layout_for(config, options));
}

uint64_t host_cache_bytes(const ModelConfig& config, const engine::EngineOptions& options, bool is_on_host) {
  const uint64_t n_list_bytes = engine::list_bytes_for(config, options);
  const uint64_t n_cache_bytes = is_on_host ? kv_bytes(config, options) : 0;
  return n_cache_bytes > UINT64_MAX - n_list_bytes ? UINT64_MAX : n_cache_bytes + n_list_bytes;
}

void fit_contexts(const ModelConfig& config, uint64_t host_bytes, engine::EngineOptions& options) {
  const uint64_t n_of_context =
      (uint64_t{options.n_ctx} + options.block_tokens - 1) / options.block_tokens * options.block_tokens;
  if (host_bytes == 0) return;
  while (options.kv_tokens / 2 >= n_of_context && host_cache_bytes(config, options, true) > host_bytes) {
    options.kv_tokens = static_cast<uint32_t>(options.kv_tokens / 2 / n_of_context * n_of_context);
  }
}

Status check_cache(const ModelConfig& config, const engine::EngineOptions& options, bool is_on_host,
                   uint64_t host_bytes) {
  const uint64_t n_bytes = host_cache_bytes(config, options, is_on_host);
  if (host_bytes == 0 || n_bytes <= host_bytes) return {};
  return Error{ErrorCode::kResourceExhausted,
               fmt::format("no memory for a cache of {} tokens, in contexts of {}: it takes {} bytes, and this machine "
                           "has {}; --ctx, --kv-tokens and --kv-type make it smaller",
                           std::max(options.kv_tokens, options.n_ctx), options.n_ctx, n_bytes, host_bytes),
               "memory"};
}

uint64_t gpu_tensor_bytes(const ModelFile& file) {
  uint64_t n_bytes = 0;
  for (const TensorInfo& tensor : file.tensors()) {
    n_bytes += tensor.n_bytes();
    if (tensor.type == TypeId::kF8_E4M3) n_bytes += tensor.data.size() / kF8ScaleCols * sizeof(float);
  }
  return n_bytes;
}

uint64_t gpu_other_bytes(const ModelFile& file, const ModelConfig& config, const engine::EngineOptions& options,
                         const BackendLimits& limits, uint32_t n_sharing, const AdapterSlots& adapters) {
  constexpr uint64_t kRuntimeBytes = uint64_t{512} << 20;
  KvLayout cache;
  cache.block_tokens = options.block_tokens;
  cache.type = options.kv_type;
  cache.n_groups = static_cast<uint32_t>(group_layers(state_layouts(config, options.n_ctx)).windows.size());
  const std::vector<TypeId> types = tensor_types(file);
  const Program outline = outline_with_adapters(outline_forward(config), adapters);
  return cuda::scratch_bytes(outline, {limits, cache, types, n_sharing}) + kRuntimeBytes;
}

uint64_t gpu_host_bytes(const GpuSettings& settings) {
  if (settings.host_memory_mb > 0) return settings.host_memory_mb << 20;
  const uint64_t n_available = host_memory().available_bytes;
  return settings.layer_dir.empty() || n_available == 0 ? UINT64_MAX : n_available / 4 * 3;
}

uint32_t n_layers_on_gpus(uint32_t n_layers, uint64_t n_bytes, uint64_t other_bytes,
                          std::span<const uint64_t> free_bytes) {
  if (n_layers == 0) return 0;
  const uint64_t layer_bytes = std::max<uint64_t>(1, (n_bytes + n_layers - 1) / n_layers);
  uint64_t n_fitting = 0;
  for (const uint64_t n_free : free_bytes) n_fitting += (n_free - std::min(other_bytes, n_free)) / layer_bytes;
  return static_cast<uint32_t>(std::min<uint64_t>(n_fitting, n_layers));
}

Status check_on_cpu(const ModelConfig& config) {
  RZ_TRY(const auto cpu, cpu::make_cpu_backend({.n_threads = 1}));
  return cpu->check(outline_forward(config));
}

Result<GpuFit> fit_on_gpus(const ModelFile& file, const ModelConfig& config, const engine::EngineOptions& options) {
  RZ_TRY(const auto devices, cuda::list_devices());
  RZ_CHECK_OK(cuda::check_bounds(outline_forward(config), {}));
  std::vector<uint64_t> free_bytes;
  for (const cuda::DeviceInfo& device : devices) free_bytes.push_back(device.free_bytes);
  const uint64_t other_bytes = gpu_other_bytes(file, config, options, engine::limits_for(options), 1);
  const uint64_t n_bytes = gpu_tensor_bytes(file) + kv_bytes(config, options);
  return GpuFit{devices.size(), n_layers_on_gpus(n_file_layers(config), n_bytes, other_bytes, free_bytes)};
}

}  // namespace realizar
