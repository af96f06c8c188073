#include "server/models/model_waiters.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/fair_share.h"

namespace realizar::server {

Status ModelWaiters::make_place(const ModelEntry& entry, uint64_t tenant) {
  const auto n_waiting = static_cast<uint64_t>(std::ranges::count(waiting_, &entry, &Waiting::entry));
  const uint64_t n_places = std::max<uint64_t>(max_waiting_, 1);
  if (n_waiting < n_places) return {};
  const auto holding_of = [&](const Waiting& waiting) {
    return engine::Holding{waiting.tenant, waiting.entry == &entry ? 1u : 0u};
  };
  const Error is_full{ErrorCode::kResourceExhausted,
                      fmt::format("{} requests wait for '{}' already", n_waiting, entry.source.id), "queue"};
  const auto leaving = engine::newest_of_most(waiting_, holding_of, {tenant, 1}, n_places);
  if (leaving == waiting_.end()) return is_full;
  const Then then = leaving->then;
  waiting_.erase(leaving);
  then(is_full);
  return {};
}

void ModelWaiters::add(uint64_t ticket, uint64_t tenant, const ModelEntry& entry, Then then) {
  waiting_.push_back({ticket, tenant, &entry, std::move(then)});
}

void ModelWaiters::forget(uint64_t ticket) {
  std::erase_if(waiting_, [&](const Waiting& waiting) { return waiting.ticket == ticket; });
}

bool ModelWaiters::any_for(const ModelEntry& entry) const {
  return std::ranges::count(waiting_, &entry, &Waiting::entry) > 0;
}

void ModelWaiters::hand_over(const ModelEntry& from, const ModelEntry& to) {
  for (Waiting& waiting : waiting_) {
    if (waiting.entry == &from) waiting.entry = &to;
  }
}

void ModelWaiters::tell(const ModelEntry& entry, const Result<ServedModelPtr>& outcome) {
  const auto is_other = [&](const Waiting& waiting) { return waiting.entry != &entry; };
  const auto mine = std::stable_partition(waiting_.begin(), waiting_.end(), is_other);
  std::vector<Waiting> called(std::make_move_iterator(mine), std::make_move_iterator(waiting_.end()));
  waiting_.erase(mine, waiting_.end());
  for (const Waiting& waiting : called) waiting.then(outcome);
}

}  // namespace realizar::server
