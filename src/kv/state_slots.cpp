#include "kv/state_slots.h"

#include <utility>

#include "base/check.h"

namespace realizar::kv {

StateSlots& StateSlots::operator=(StateSlots&& other) noexcept {
  release();
  pool_ = std::exchange(other.pool_, nullptr);
  slot_ = std::exchange(other.slot_, std::nullopt);
  spare_ = std::exchange(other.spare_, std::nullopt);
  marked_ = std::exchange(other.marked_, std::nullopt);
  n_positions_ = std::exchange(other.n_positions_, 0);
  n_next_ = std::exchange(other.n_next_, 0);
  n_marked_ = std::exchange(other.n_marked_, 0);
  in_place_ = std::exchange(other.in_place_, false);
  return *this;
}

bool StateSlots::reserve(uint32_t n_positions) {
  if (!is_used()) return true;
  n_next_ = n_positions;
  in_place_ = slot_ && pool_->n_holders(*slot_) == 1 && pool_->name_of(*slot_).hash == 0;
  if (in_place_ || spare_) return true;
  spare_ = pool_->allocate();
  return spare_.has_value();
}

void StateSlots::advance() {
  if (!is_used() || n_positions_ == n_next_) return;
  if (!in_place_) {
    give_back(slot_);
    slot_ = std::exchange(spare_, std::nullopt);
  }
  n_positions_ = n_next_;
}

void StateSlots::adopt(BlockId slot, uint32_t n_positions) {
  release();
  slot_ = slot;
  n_positions_ = n_next_ = n_positions;
}

void StateSlots::mark() {
  drop_mark();
  if (!slot_) return;
  pool_->hold(*slot_);
  marked_ = slot_;
  n_marked_ = n_positions_;
}

void StateSlots::drop_mark() {
  give_back(marked_);
}

void StateSlots::back_to_mark() {
  REQUIRE(marked_.has_value());
  give_back(slot_);
  slot_ = std::exchange(marked_, std::nullopt);
  n_positions_ = n_next_ = n_marked_;
}

void StateSlots::release() {
  give_back(marked_);
  give_back(spare_);
  give_back(slot_);
  n_positions_ = n_next_ = 0;
}

void StateSlots::give_back(std::optional<BlockId>& slot) {
  if (slot) pool_->release(*slot);
  slot.reset();
}

}  // namespace realizar::kv
