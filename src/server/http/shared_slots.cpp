#include "server/http/shared_slots.h"

#include <utility>

#include "engine/fair_share.h"

namespace realizar::server {

SharedSlots::SlotPtr SharedSlots::take(uint64_t tenant, std::function<void()> give_way) {
  auto holder = std::make_shared<Holder>(Holder{tenant, std::move(give_way)});
  HolderPtr leaving;
  SlotPtr slot;
  {
    const std::lock_guard lock(mutex_);
    if (holders_.size() >= n_slots_) {
      const auto holding_of = [](const HolderPtr& one) { return engine::Holding{one->tenant, 1}; };
      const auto newest = engine::newest_of_most(holders_, holding_of, {tenant, 1}, n_slots_);
      if (newest == holders_.end()) return nullptr;
      leaving = *newest;
    }
    holders_.push_back(holder);
    if (leaving != nullptr) holders_.remove(leaving);
  }
  slot = std::make_unique<Slot>(shared_from_this(), std::move(holder));
  if (leaving != nullptr) leaving->give_way();
  return slot;
}

uint32_t SharedSlots::n_taken() const {
  const std::lock_guard lock(mutex_);
  return static_cast<uint32_t>(holders_.size());
}

void SharedSlots::give_back(const HolderPtr& holder) {
  const std::lock_guard lock(mutex_);
  holders_.remove(holder);
}

}  // namespace realizar::server
