// Snapshots of numbers, for metrics and the page: a model's memory on a backend and the work done for it, and the
// memory of this machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "realizar/options.h"

namespace realizar {

class Backend;

// The numbers of one of the backend's devices; see DeviceUse.
struct DeviceNumbers {
  std::string name;  // "cuda:0"
  uint64_t weight_bytes = 0, kv_bytes = 0, scratch_bytes = 0;
  uint64_t free_bytes = 0, total_bytes = 0;
  uint64_t n_launches = 0, n_captures = 0, n_replays = 0, n_graph_failures = 0, n_streamed_bytes = 0;
};

struct BackendNumbers {
  std::string name, description;  // as in BackendInfo
  uint64_t weight_bytes = 0, kv_bytes = 0, scratch_bytes = 0;
  std::vector<DeviceNumbers> devices;

  // "cuda:0,cuda:1", or the backend's name if it has no devices of its own.
  std::string device_names() const;
};

BackendNumbers numbers_of(const Backend& backend);

// Memory where this machine can keep models.
struct MemoryPlace {
  std::string name;  // "cpu", or a GPU's
  uint64_t free_bytes = 0, total_bytes = 0;
};

// The host's memory, where the system tells of it, and the GPUs' that models loaded with such options may use.
std::vector<MemoryPlace> memory_places(const LoadOptions& options);

}  // namespace realizar
