// DELETE /cache: removes what a key's calls have left in memory, on the disk and in Redis, and overwrites it with
// zeroes except in Redis.
#include <spdlog/spdlog.h>

#include <atomic>
#include <memory>

#include "server/call/context.h"
#include "server/models/model_registry.h"
#include "server/models/prefix_folders.h"
#include "server/routes/routes.h"
#include "server/shared/shared_prefixes.h"

namespace realizar::server {
namespace {

// Continues after an error, and returns the first one.
Status erase_all(const PrefixKeeper& prefixes, const std::vector<std::string>& ids) {
  Status status;
  for (const std::string& id : ids) {
    Status erased = prefixes.erase(id);
    if (status.ok()) status = std::move(erased);
  }
  return status;
}

// Prefixes in other servers' memory are not removed.
Task<Status> forget_shared(Call& call) {
  if (call.context.shared == nullptr) co_return Status();
  const auto told = std::make_shared<Status>();
  Lent forgetting(call, [&](const std::function<void()>& give_back) {
    call.context.shared->forget(call.key, [told, give_back](const Status& status) {
      *told = status;
      give_back();
    });
  });
  co_await forgetting;
  co_return *told;
}

}  // namespace

// The files hold prefixes of all keys; they are written again when the server ends. Slots that a client has saved under
// a name are kept.
Task<Status> delete_cache(Call& call) {
  const Status forgotten = co_await forget_shared(call);
  // With keys, other keys' prefixes are kept; without keys, all belong to one owner.
  const auto owner = call.key == KeyDigest{} ? std::nullopt : std::optional(call.tenant);
  Lent clearing(call, [&](const std::function<void()>& give_back) {
    const auto n_left = std::make_shared<std::atomic<size_t>>(1);
    const auto one_done = [n_left, give_back] {
      if (--*n_left == 0) give_back();
    };
    for (const auto& entry : call.context.models.entries()) {
      if (entry.model == nullptr) continue;
      ++*n_left;
      entry.model->thread->clear_cache(owner, one_done);
    }
    one_done();
  });
  co_await clearing;
  call.context.slots->forget(call.key);
  if (const PrefixKeeper* prefixes = call.context.models.prefixes()) {
    std::vector<std::string> ids;
    for (const auto& entry : call.context.models.entries()) ids.push_back(entry.source.id);
    OnWorker erasing(call, 0, [&] { return erase_all(*prefixes, ids); });
    RZ_CO_CHECK_OK(co_await erasing);
  }
  if (!forgotten.ok()) {
    spdlog::error("DELETE /cache: {}", forgotten.error().message);
    co_return call.refuse({503, "Redis does not answer: what it has of the key's prefixes stays until its time is over",
                           "", "shared_cache_lost"});
  }
  co_return call.finish({200, "application/json", R"({"deleted":true})", {}});
}

}  // namespace realizar::server
