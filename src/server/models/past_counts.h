// What models counted that have been unloaded since: counters live as long as the server does. I/O thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "api/backend_numbers.h"
#include "engine/counters.h"

namespace realizar {
struct LoadedModel;
}

namespace realizar::server {

struct PastCounts {
  engine::EngineCounters counters;
  std::string devices;                 // that it was on, as BackendNumbers::device_names() has them
  std::vector<DeviceNumbers> of_each;  // what operations each of them did; its bytes are 0

  void add(const LoadedModel& model);
  void add(const PastCounts& other);

 private:
  void add_uses(const std::vector<DeviceNumbers>& others);
};
using PastCountsOfModels = std::map<std::string, PastCounts>;  // by id

}  // namespace realizar::server
