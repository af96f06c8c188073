#include "api/device_fit.h"

#include <vector>

#include "api/memory_needs.h"
#include "backend/cpu/cpu_backend.h"
#include "backend/cuda/compile/bounds.h"
#include "backend/cuda/device/device_list.h"
#include "base/try.h"
#include "engine/cache_sizes.h"
#include "model/forward.h"

namespace realizar {

Status check_on_cpu(const ModelConfig& config) {
  RZ_TRY(const auto cpu, cpu::make_cpu_backend({.n_threads = 1}));
  return cpu->check(outline_forward(config));
}

Result<GpuFit> fit_on_gpus(const ModelFile& file, const ModelConfig& config, const engine::EngineOptions& options) {
  RZ_TRY(const auto devices, cuda::list_devices());
  RZ_CHECK_OK(cuda::check_bounds(outline_forward(config), false));
  std::vector<uint64_t> free_bytes;
  for (const cuda::DeviceInfo& device : devices) free_bytes.push_back(device.free_bytes);
  const uint64_t other_bytes = gpu_other_bytes(file, config, options, engine::limits_for(options), 1);
  const uint64_t n_bytes = gpu_tensor_bytes(file) + kv_bytes(config, options);
  return GpuFit{devices.size(), n_layers_on_gpus(n_file_layers(config), n_bytes, other_bytes, free_bytes)};
}

}  // namespace realizar
