#include "api/backend_numbers.h"

#include "backend/backend.h"
#include "backend/cuda/device/device_list.h"
#include "base/machine.h"

namespace realizar {

std::string BackendNumbers::device_names() const {
  std::string names;
  for (const DeviceNumbers& device : devices) names += (names.empty() ? "" : ",") + device.name;
  return names.empty() ? name : names;
}

BackendNumbers numbers_of(const Backend& backend) {
  const BackendInfo info = backend.info();
  BackendNumbers numbers{info.name, info.description, info.weight_bytes, info.kv_bytes, info.scratch_bytes, {}};
  for (const DeviceUse* use : info.devices) {
    numbers.devices.push_back({.name = use->name,
                               .weight_bytes = use->weight_bytes,
                               .kv_bytes = use->kv_bytes,
                               .scratch_bytes = use->scratch_bytes,
                               .free_bytes = use->free_bytes,
                               .total_bytes = use->total_bytes,
                               .n_launches = use->n_launches,
                               .n_captures = use->n_captures,
                               .n_replays = use->n_replays,
                               .n_graph_failures = use->n_graph_failures,
                               .n_streamed_bytes = use->n_streamed_bytes});
  }
  return numbers;
}

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
