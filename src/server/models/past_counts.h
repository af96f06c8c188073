// What models counted that have been unloaded since: counters live as long as the server does. I/O thread.
#pragma once

#include <list>
#include <map>
#include <string>

#include "api/loaded_model.h"
#include "backend/backend.h"
#include "engine/counters.h"

namespace realizar::server {

// "cuda:0,cuda:1", or what the backend is.
std::string device_names(const Backend& backend);

struct PastCounts {
  engine::EngineCounters counters;
  std::string devices;           // that it was on, as device_names() has them
  std::list<DeviceUse> of_each;  // what operations each of them did; its bytes are 0

  void add(const LoadedModel& model);
  void add(const PastCounts& other);
};
using PastCountsOfModels = std::map<std::string, PastCounts>;  // by id

}  // namespace realizar::server
