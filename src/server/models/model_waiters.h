// Requests that wait for models to be loaded: a bounded number for each, whose places tenants share as they share an
// engine's queue. I/O thread.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "realizar/result.h"
#include "server/models/model_list.h"

namespace realizar::server {

class ModelWaiters {
 public:
  using Then = std::function<void(const Result<ServedModelPtr>&)>;

  explicit ModelWaiters(uint32_t max_waiting) : max_waiting_(max_waiting) {}

  // Finds room for a further one, which may be the place of another tenant's. Errors: ResourceExhausted.
  Status make_place(const ModelEntry& entry, uint64_t tenant);
  // `ticket`: larger than those before.
  void add(uint64_t ticket, uint64_t tenant, const ModelEntry& entry, Then then);
  void forget(uint64_t ticket);
  bool any_for(const ModelEntry& entry) const;
  // Whoever waits for one waits for the other from now on.
  void hand_over(const ModelEntry& from, const ModelEntry& to);
  // They wait no more.
  void tell(const ModelEntry& entry, const Result<ServedModelPtr>& outcome);

 private:
  struct Waiting {
    uint64_t ticket;
    uint64_t tenant;
    const ModelEntry* entry;
    Then then;
  };

  const uint64_t max_waiting_;
  std::vector<Waiting> waiting_;  // the newest last
};

}  // namespace realizar::server
