// The last changes of models, for clients that listen to them. I/O thread.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "server/model_registry.h"

namespace realizar::server {

class ModelEvents {
 public:
  void add(const ModelChange& change);
  // A change that is no model's: the list was read anew.
  void add_reload();
  uint64_t end() const { return end_; }
  // As server-sent events all from `next` on that are still there; `next` is at their end then.
  std::string since(uint64_t& next) const;

 private:
  static constexpr size_t kMaxKept = 256;
  void keep(std::string event);

  std::deque<std::string> events_;
  uint64_t end_ = 0;  // how many there were
};

}  // namespace realizar::server
