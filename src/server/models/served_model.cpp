#include "server/models/served_model.h"

#include <utility>

namespace realizar::server {

void ServedModel::close() {
  thread.reset();
  if (const auto keep = std::exchange(keep_prefixes, {}); keep && loaded != nullptr) keep(*this);
}

}  // namespace realizar::server
