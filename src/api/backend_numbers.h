// A snapshot of a backend's numbers, for metrics: a model's memory there, and the work done for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

}  // namespace realizar
