// What a model takes of memory, counted before anything of it is loaded.
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

// Of keys, values and states, with the windows of layers, as an engine with such options keeps them.
uint64_t kv_bytes(const ModelConfig& config, const engine::EngineOptions& options);

// What the cache takes of the host's memory, with the lists of its blocks; is_on_host: the cache itself too.
uint64_t host_cache_bytes(const ModelConfig& config, const engine::EngineOptions& options, bool is_on_host);

// Makes the cache hold fewer whole contexts, one at least, where it would be larger than host_bytes; 0: not known.
void fit_contexts(const ModelConfig& config, uint64_t host_bytes, engine::EngineOptions& options);

// Errors: ResourceExhausted, where the cache is larger than the host_bytes that this machine has in all; 0: not known.
Status check_cache(const ModelConfig& config, const engine::EngineOptions& options, bool is_on_host,
                   uint64_t host_bytes);

// The tensors' size on a GPU, which keeps F8 with a scale for every kF8ScaleCols elements, whatever the file has.
uint64_t gpu_tensor_bytes(const ModelFile& file);

// What a model takes of each GPU's memory besides weights and cache: what its steps compute in, and what the runtime
// does. n_sharing: GPUs that share every layer.
uint64_t gpu_other_bytes(const ModelFile& file, const ModelConfig& config, const engine::EngineOptions& options,
                         const BackendLimits& limits, uint32_t n_sharing, const AdapterRoom& adapters = {});

// The host's memory that layers may take which find no place on GPUs. It has no bound where there is no disk for more.
uint64_t gpu_host_bytes(const GpuSettings& settings);

// How many of n_layers find room on GPUs with these free bytes each, where all of them take n_bytes, and every GPU
// other_bytes besides.
uint32_t n_layers_on_gpus(uint32_t n_layers, uint64_t n_bytes, uint64_t other_bytes,
                          std::span<const uint64_t> free_bytes);

// Whether the devices of this machine can run the model. Errors: as Backend::check.
Status check_on_cpu(const ModelConfig& config);

struct GpuFit {
  size_t n_gpus = 0;
  uint32_t n_layers = 0;  // of the file's that find room on them; the others would come over in each step
};
// Errors: those of cuda::list_devices; as Backend::check.
Result<GpuFit> fit_on_gpus(const ModelFile& file, const ModelConfig& config, const engine::EngineOptions& options);

}  // namespace realizar
