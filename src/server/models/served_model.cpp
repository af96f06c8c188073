#include "server/models/served_model.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "base/caught.h"
#include "server/models/prefix_keeper.h"

namespace realizar::server {

void ServedModel::close() {
  thread.reset();
  if (prefixes == nullptr || loaded == nullptr) return;
  const Status kept = caught([&] { std::exchange(prefixes, nullptr)->keep(id, *loaded); });
  if (!kept.ok()) spdlog::error("the prefixes of {} are not kept: {}", id, kept.error().message);
}

}  // namespace realizar::server
