#include "backend/ranks/vitals.h"

#include <algorithm>

namespace realizar::ranks {

void Vitals::left(uint32_t peer) {
  peers_[peer].has_left = true;
}

bool Vitals::have_all_left() const {
  return std::all_of(peers_.begin(), peers_.end(), [](const Peer& peer) { return peer.has_left; });
}

void Vitals::pass(Duration time) {
  const Duration counted = std::min(time, kLongestLook);
  for (Peer& peer : peers_) {
    peer.silent_for += counted;
    if (peer.has_left) peer.left_for += counted;
  }
}

std::optional<Vitals::Lost> Vitals::lost(Now now) const {
  for (uint32_t i = 0; i < peers_.size(); ++i) {
    const Peer& peer = peers_[i];
    if (peer.left_for >= silence_ && !now.is_at_end) return Lost{i, Fault::kLeft};
    if (peer.has_left) continue;
    if (now.is_killed && peer.silent_for >= kGoneAfter) return Lost{i, Fault::kGone};
    if (peer.silent_for >= silence_) return Lost{i, Fault::kSilent};
  }
  return std::nullopt;
}

bool Vitals::is_any_silent() const {
  return std::any_of(peers_.begin(), peers_.end(), [&](const Peer& peer) { return peer.silent_for >= silence_; });
}

}  // namespace realizar::ranks
