// DELETE /cache: what a key's calls have left in memory and on the disk is forgotten and zeroed.
#include "server/call/context.h"
#include "server/models/prefix_keeper.h"
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

// To be awaited: each loaded model's engine clears its own.
class CacheClearing {
 public:
  CacheClearing(Call& call, std::optional<uint64_t> owner) : call_(call), owner_(owner) {}
  bool await_ready() {
    for (const auto& entry : call_.context.models.entries()) {
      if (entry.model == nullptr) continue;
      ++n_left_;
      entry.model->thread->clear_cache(owner_,
                                       [this, &http = call_.context.http] { http.post([this] { one_done(); }); });
    }
    return n_left_ == 0;
  }
  void await_suspend(std::coroutine_handle<> at) { call_.wait(Call::State::kLent, at); }
  void await_resume() const noexcept {}

 private:
  void one_done() {
    if (--n_left_ == 0) call_.go_on();
  }

  Call& call_;
  std::optional<uint64_t> owner_;
  size_t n_left_ = 0;
};

// The files hold prefixes of all keys: they are written anew when the server ends. Slots that a client has saved under
// a name stay.
Task<Status> delete_cache(Call& call) {
  CacheClearing clearing(call, owner_of(call));
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
