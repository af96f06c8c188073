// A model's memory needs, computed before loading it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/engine_options.h"
#include "formats/model_file.h"
#include "model/adapter_targets.h"
#include "model/model_config.h"
#include "realizar/options.h"
#include "realizar/result.h"

namespace realizar {

// Memory for keys, values and states, with the windows of layers, in an engine with these options.
uint64_t kv_bytes(const ModelConfig& config, const engine::EngineOptions& options);

// Host memory for the cache's block lists; is_on_host: including the cache itself.
uint64_t host_cache_bytes(const ModelConfig& config, const engine::EngineOptions& options, bool is_on_host);

// Reduces the cache to fewer whole contexts, at least one, if it would exceed host_bytes; 0: unknown.
void fit_contexts(const ModelConfig& config, uint64_t host_bytes, engine::EngineOptions& options);

// Errors: ResourceExhausted if the cache exceeds host_bytes, the machine's total memory; 0: unknown.
Status check_cache(const ModelConfig& config, const engine::EngineOptions& options, bool is_on_host,
                   uint64_t host_bytes);

// The tensors' size on a GPU, which keeps F8 with a scale for every kF8ScaleCols elements, regardless of the file.
uint64_t gpu_tensor_bytes(const ModelFile& file);

// A model's memory on each GPU in addition to weights and cache: buffers of its steps, and the runtime's own.
// n_sharing: GPUs that share every layer.
uint64_t gpu_other_bytes(const ModelFile& file, const ModelConfig& config, const engine::EngineOptions& options,
                         const BackendLimits& limits, uint32_t n_sharing, const AdapterSlots& adapters = {});

// Host memory for layers that do not fit on GPUs. Unlimited if there is no disk for more.
uint64_t gpu_host_bytes(const GpuSettings& settings);

// How many of n_layers fit on GPUs with these free bytes each, if all layers take n_bytes, and every GPU also needs
// other_bytes.
uint32_t n_layers_on_gpus(uint32_t n_layers, uint64_t n_bytes, uint64_t other_bytes,
                          std::span<const uint64_t> free_bytes);

// Whether the devices of this machine can run the model. Errors: as Backend::check.
Status check_on_cpu(const ModelConfig& config);

struct GpuFit {
  size_t n_gpus = 0;
  uint32_t n_layers = 0;  // the file's layers that fit on them; the others would be transferred in each step
};
// Errors: those of cuda::list_devices and of Backend::check.
Result<GpuFit> fit_on_gpus(const ModelFile& file, const ModelConfig& config, const engine::EngineOptions& options);

}  // namespace realizar
