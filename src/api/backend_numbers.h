// Numbers of a backend at one time, for metrics: the memory that a model has there, and the work done for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace realizar {

class Backend;

// The same of one of the backend's devices; DeviceUse says more.
struct DeviceNumbers {
  std::string name;  // "cuda:0"
  uint64_t weight_bytes = 0, kv_bytes = 0, scratch_bytes = 0;
  uint64_t free_bytes = 0, total_bytes = 0;
  uint64_t n_launches = 0, n_captures = 0, n_replays = 0, n_graph_failures = 0, n_streamed_bytes = 0;
};

struct BackendNumbers {
  std::string name, description;  // as BackendInfo has them
  uint64_t weight_bytes = 0, kv_bytes = 0, scratch_bytes = 0;
  std::vector<DeviceNumbers> devices;

  // "cuda:0,cuda:1", or the backend's name where it has no devices of its own.
  std::string device_names() const;
};

BackendNumbers numbers_of(const Backend& backend);

}  // namespace realizar
