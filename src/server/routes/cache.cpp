// DELETE /cache: what a key's calls have left in memory and on the disk is forgotten and zeroed.
#include <atomic>
#include <memory>

#include "server/call/context.h"
#include "server/models/model_registry.h"
#include "server/models/prefix_folders.h"
#include "server/routes/routes.h"

namespace realizar::server {
namespace {

// Where keys are asked for, the others' prefixes stay; where none is, all are of one owner.
std::optional<uint64_t> owner_of(const Call& call) {
  return call.key == KeyDigest{} ? std::nullopt : std::optional(call.tenant);
}

// Goes on after an error, which is the first one's.
Status erase_all(const PrefixKeeper& prefixes, const std::vector<std::string>& ids) {
  Status status;
  for (const std::string& id : ids) {
    Status erased = prefixes.erase(id);
    if (status.ok()) status = std::move(erased);
  }
  return status;
}

}  // namespace

// The files hold prefixes of all keys: they are written anew when the server ends. Slots that a client has saved under
// a name stay.
Task<Status> delete_cache(Call& call) {
  Lent clearing(call, [&call](const std::function<void()>& give_back) {
    const auto n_left = std::make_shared<std::atomic<size_t>>(1);
    const auto one_done = [n_left, give_back] {
      if (--*n_left == 0) give_back();
    };
    for (const auto& entry : call.context.models.entries()) {
      if (entry.model == nullptr) continue;
      ++*n_left;
      entry.model->thread->clear_cache(owner_of(call), one_done);
    }
    one_done();
  });
  co_await clearing;
  call.context.slots->forget(call.key);
  if (const PrefixKeeper* prefixes = call.context.models.prefixes()) {
    std::vector<std::string> ids;
    for (const auto& entry : call.context.models.entries()) ids.push_back(entry.source.id);
    OnWorker erasing(call, 0, [&] { return erase_all(*prefixes, ids); });
    const Status erased = co_await erasing;
    if (!erased.ok()) co_return erased;
  }
  call.send({200, "application/json", R"({"deleted":true})", {}});
  co_return Status();
}

}  // namespace realizar::server
