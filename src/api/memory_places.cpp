#include "api/memory_places.h"

#include "backend/cuda/device/device_list.h"
#include "base/machine.h"

namespace realizar {

std::vector<MemoryPlace> memory_places(const LoadOptions& options) {
  std::vector<MemoryPlace> places;
  const HostMemory host = host_memory();
  if (host.total_bytes > 0) places.push_back({"cpu", host.available_bytes, host.total_bytes});
  const bool may_use_gpus = options.backend == BackendChoice::kAuto || options.backend == BackendChoice::kCuda;
  if (!may_use_gpus) return places;
  const auto gpus = cuda::list_devices();
  if (!gpus.ok()) return places;
  for (const cuda::DeviceInfo& gpu : *gpus) places.push_back({gpu.name, gpu.free_bytes, gpu.total_bytes});
  return places;
}

}  // namespace realizar
