#include "server/call/rate_limits.h"

#include <algorithm>
#include <optional>

#include "server/call/context.h"
#include "server/models/model_registry.h"

namespace realizar::server {
namespace {

struct Room {
  uint32_t most = 0, used = 0;
};

std::optional<Room> room_of(const Call& call, bool is_whole) {
  const ServerContext& context = call.context;
  if (const uint32_t most = context.options.max_requests_per_key; most > 0) {
    const uint32_t ends_now = is_whole && call.is_open() ? 1 : 0;
    return Room{most, context.n_open_of(call.tenant) - ends_now};
  }
  const auto* entry = call.record.model.empty() ? nullptr : context.models.find(call.record.model);
  if (entry == nullptr || entry->model == nullptr) return std::nullopt;
  return Room{entry->model->thread->max_open(), entry->model->thread->n_open()};
}

}  // namespace

Headers rate_limit_headers(const Call& call, bool is_whole) {
  const auto elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - call.start);
  Headers headers{{"openai-processing-ms", std::to_string(elapsed.count())}};
  if (const auto room = room_of(call, is_whole)) {
    headers.emplace_back("x-ratelimit-limit-requests", std::to_string(room->most));
    headers.emplace_back("x-ratelimit-remaining-requests",
                         std::to_string(room->most - std::min(room->used, room->most)));
  }
  return headers;
}

}  // namespace realizar::server
