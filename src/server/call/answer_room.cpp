#include "server/call/answer_room.h"

#include <algorithm>

#include "engine/fair_share.h"

namespace realizar::server {

AnswerRoom::Share::Share(AnswerRoom& room, uint64_t tenant, std::function<void()> give_way)
    : room_(room),
      tenant_(tenant),
      give_way_(std::move(give_way)),
      position_(room.shares_.insert(room.shares_.end(), this)) {}

AnswerRoom::Share::~Share() {
  room_.n_held_bytes_ -= n_bytes_;
  room_.n_freed_bytes_ += n_bytes_;
  if (is_leaving_) room_.n_leaving_bytes_ -= n_bytes_;
  room_.shares_.erase(position_);
}

AnswerRoom::Grown AnswerRoom::Share::grow_to(uint64_t n_bytes) {
  if (n_bytes <= kFreeBytes + n_bytes_) return Grown::kYes;
  if (n_bytes > room_.n_bytes_of_one_) return Grown::kTooLarge;
  const uint64_t n_more = n_bytes - kFreeBytes - n_bytes_;
  if (is_leaving_ || !room_.make_room(*this, n_more)) return Grown::kNoRoom;
  n_bytes_ += n_more;
  room_.n_held_bytes_ += n_more;
  return Grown::kYes;
}

// A call that gives way may hold its memory a little longer, while a worker uses it.
bool AnswerRoom::make_room(const Share& own, uint64_t n_bytes) {
  while (n_held_bytes_ - n_leaving_bytes_ + n_bytes > n_bytes_) {
    Share* leaving = next_to_leave(own, n_bytes);
    if (leaving == &own) return false;
    leaving->is_leaving_ = true;
    n_leaving_bytes_ += leaving->n_bytes_;
    const auto give_way = leaving->give_way_;  // the call may destroy the share
    give_way();
  }
  return true;
}

// The newest call of the tenant that holds most, if there is a claim to its room, else the newest of the same tenant.
AnswerRoom::Share* AnswerRoom::next_to_leave(const Share& own, uint64_t n_bytes) const {
  const auto holding_of = [](const Share* one) {
    return engine::Holding{one->tenant_, one->is_leaving_ ? 0 : one->n_bytes_};
  };
  const auto newest = engine::newest_of_most(shares_, holding_of, {own.tenant_, n_bytes}, n_bytes_);
  if (newest != shares_.end()) return *newest;
  return *std::find_if(shares_.rbegin(), shares_.rend(), [&](const Share* one) {
    return one == &own || (one->tenant_ == own.tenant_ && holding_of(one).n_held > 0);
  });
}

}  // namespace realizar::server
