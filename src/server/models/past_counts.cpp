#include "server/models/past_counts.h"

#include <algorithm>

#include "api/loaded_model.h"
#include "engine/engine.h"

namespace realizar::server {

void PastCounts::add_uses(const std::vector<DeviceNumbers>& others) {
  for (const DeviceNumbers& other : others) {
    auto own = std::ranges::find(of_each, other.name, &DeviceNumbers::name);
    if (own == of_each.end()) own = of_each.insert(own, DeviceNumbers{.name = other.name});
    own->n_launches += other.n_launches;
    own->n_captures += other.n_captures;
    own->n_replays += other.n_replays;
    own->n_graph_failures += other.n_graph_failures;
    own->n_streamed_bytes += other.n_streamed_bytes;
  }
}

void PastCounts::add(const LoadedModel& model) {
  counters.add_counts(model.engine->counters());
  const BackendNumbers numbers = numbers_of(*model.backend);
  devices = numbers.device_names();
  add_uses(numbers.devices);
}

void PastCounts::add(const PastCounts& other) {
  counters.add_counts(other.counters);
  devices = other.devices;
  add_uses(other.of_each);
}

}  // namespace realizar::server
