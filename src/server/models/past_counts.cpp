#include "server/models/past_counts.h"

#include <algorithm>

namespace realizar::server {
namespace {

void add_use(std::list<DeviceUse>& uses, const DeviceUse& other) {
  auto use = std::ranges::find(uses, other.name, &DeviceUse::name);
  if (use == uses.end()) {
    use = uses.emplace(uses.end());
    use->name = other.name;
  }
  use->n_launches += other.n_launches;
  use->n_captures += other.n_captures;
  use->n_replays += other.n_replays;
  use->n_graph_failures += other.n_graph_failures;
  use->n_streamed_bytes += other.n_streamed_bytes;
}

}  // namespace

std::string device_names(const Backend& backend) {
  const BackendInfo info = backend.info();
  std::string names;
  for (const DeviceUse* device : info.devices) names += (names.empty() ? "" : ",") + device->name;
  return names.empty() ? info.name : names;
}

void PastCounts::add(const LoadedModel& model) {
  counters.add_counts(model.engine->counters());
  devices = device_names(*model.backend);
  const BackendInfo info = model.backend->info();
  for (const DeviceUse* device : info.devices) add_use(of_each, *device);
}

void PastCounts::add(const PastCounts& other) {
  counters.add_counts(other.counters);
  devices = other.devices;
  for (const DeviceUse& use : other.of_each) add_use(of_each, use);
}

}  // namespace realizar::server
