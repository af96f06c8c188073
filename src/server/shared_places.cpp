#include "server/shared_places.h"

#include <map>
#include <utility>

#include "engine/fair_share.h"

namespace realizar::server {

SharedPlaces::PlacePtr SharedPlaces::take(uint64_t tenant, std::function<void()> give_way) {
  auto holder = std::make_shared<Holder>(Holder{tenant, std::move(give_way)});
  HolderPtr leaving;
  PlacePtr place;
  {
    const std::lock_guard lock(mutex_);
    if (holders_.size() >= n_places_) {
      leaving = newest_of_most(tenant);
      if (leaving == nullptr) return nullptr;
    }
    holders_.push_back(holder);
    if (leaving != nullptr) holders_.remove(leaving);
  }
  place = std::make_unique<Place>(shared_from_this(), std::move(holder));
  if (leaving != nullptr) leaving->give_way();
  return place;
}

uint32_t SharedPlaces::n_taken() const {
  const std::lock_guard lock(mutex_);
  return static_cast<uint32_t>(holders_.size());
}

SharedPlaces::HolderPtr SharedPlaces::newest_of_most(uint64_t tenant) const {
  std::map<uint64_t, uint32_t> n_of{{tenant, 0}};
  for (const HolderPtr& holder : holders_) ++n_of[holder->tenant];
  HolderPtr newest;
  uint32_t n_most = 0;
  for (const HolderPtr& holder : holders_) {
    if (n_of[holder->tenant] < n_most) continue;
    n_most = n_of[holder->tenant];
    newest = holder;
  }
  const uint64_t share = engine::share_of(n_places_, n_of.size());
  return engine::has_claim(n_of[tenant] + 1, n_most, share) ? newest : nullptr;
}

void SharedPlaces::give_back(const HolderPtr& holder) {
  const std::lock_guard lock(mutex_);
  holders_.remove(holder);
}

}  // namespace realizar::server
