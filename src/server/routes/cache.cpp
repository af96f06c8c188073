// DELETE /cache: what a key's calls have left in memory and on the disk is forgotten and zeroed.
#include <nlohmann/json.hpp>

#include "server/prefix_keeper.h"
#include "server/routes.h"

namespace realizar::server {
namespace {

// Where keys are asked for, the others' prefixes stay; where none is, all are of one owner.
std::optional<uint64_t> owner_of(const Call& call) {
  return call.key == KeyDigest{} ? std::nullopt : std::optional(call.tenant);
}

// The files hold prefixes of all keys: they are written anew when the server ends.
void erase_files(Call call) {
  const PrefixKeeper* prefixes = call.context.models.prefixes();
  if (prefixes == nullptr) return call.reply->send({200, "application/json", R"({"deleted":true})", {}});
  std::vector<std::string> ids;
  for (const auto& entry : call.context.models.entries()) ids.push_back(entry.source.id);
  const auto status = std::make_shared<Status>();
  on_worker(
      std::move(call), 0,
      [prefixes, ids, status](const Call&) {
        for (const std::string& id : ids) {
          Status erased = prefixes->erase(id);
          if (status->ok()) *status = std::move(erased);
        }
      },
      [status](const Call& erased) {
        if (!status->ok()) return fail(*erased.reply, status->error());
        erased.reply->send({200, "application/json", R"({"deleted":true})", {}});
      });
}

}  // namespace

// Each loaded model's engine clears its own; the last one's word is followed by the files.
void delete_cache(Call call) {
  ServerContext& context = call.context;
  const std::optional<uint64_t> owner = owner_of(call);
  const auto shared = std::make_shared<Call>(std::move(call));
  const auto n_left = std::make_shared<size_t>(1);
  const auto one_done = [shared, n_left] {
    if (--*n_left > 0 || shared->reply->is_closed()) return;
    const auto reply = shared->reply;
    answering(*reply, [&] { erase_files(std::move(*shared)); });
  };
  for (const auto& entry : context.models.entries()) {
    if (entry.model == nullptr) continue;
    ++*n_left;
    entry.model->thread->clear_cache(owner, [&http = context.http, one_done] { http.post(one_done); });
  }
  one_done();
}

}  // namespace realizar::server
