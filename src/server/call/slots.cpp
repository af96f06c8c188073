#include "server/call/slots.h"

#include <algorithm>
#include <utility>

namespace realizar::server {
namespace {

// A text continues a slot's if it shares more than this part of itself; llama.cpp's --slot-prompt-similarity.
constexpr double kSimilarity = 0.1;

}  // namespace

uint32_t SlotTable::choose(const Slots& slots, uint32_t n_slots, std::span<const TokenId> tokens) {
  size_t most = static_cast<size_t>(kSimilarity * static_cast<double>(tokens.size()));
  std::optional<uint32_t> alike, oldest;
  for (const auto& [id, kept] : slots) {
    if (id >= n_slots) continue;
    const auto n = static_cast<size_t>(std::ranges::mismatch(tokens, kept.slot.tokens).in1 - tokens.begin());
    if (n > most) {
      alike = id;
      most = n;
    }
    if (!oldest || kept.noted_at < slots.at(*oldest).noted_at) oldest = id;
  }
  if (alike) return *alike;
  for (uint32_t id = 0; id < n_slots; ++id) {
    if (!slots.contains(id)) return id;
  }
  return oldest.value_or(0);
}

void SlotTable::note(const SlotOwner& owner, int64_t wanted, uint32_t n_slots, Slot slot) {
  if (wanted >= n_slots) return;
  const auto slots = owners_.find(owner);
  const uint32_t id = wanted >= 0 ? static_cast<uint32_t>(wanted)
                                  : choose(slots == owners_.end() ? Slots() : slots->second, n_slots, slot.tokens);
  put(owner, id, std::move(slot));
}

const Slot* SlotTable::find(const SlotOwner& owner, uint32_t id) const {
  const auto slots = owners_.find(owner);
  if (slots == owners_.end()) return nullptr;
  const auto kept = slots->second.find(id);
  return kept == slots->second.end() ? nullptr : &kept->second.slot;
}

void SlotTable::put(const SlotOwner& owner, uint32_t id, Slot slot) {
  erase(owner, id);
  const size_t n_tokens = slot.tokens.size();
  if (n_tokens > max_tokens_ / 4) return;
  make_room(owner.key, max_tokens_ / 4 - n_tokens, false);
  make_room(owner.key, max_tokens_ - n_tokens, true);
  owners_[owner][id] = {std::move(slot), ++n_noted_};
}

void SlotTable::erase(const SlotOwner& owner, uint32_t id) {
  const auto slots = owners_.find(owner);
  if (slots == owners_.end()) return;
  slots->second.erase(id);
  if (slots->second.empty()) owners_.erase(slots);
}

void SlotTable::forget(const KeyDigest& key) {
  std::erase_if(owners_, [&](const auto& slots) { return slots.first.key == key; });
}

// Forgets the oldest slots, of a key or of all, until at most max_tokens are left.
void SlotTable::make_room(const KeyDigest& key, size_t max_tokens, bool of_all) {
  while (true) {
    size_t n_tokens = 0;
    std::optional<std::pair<SlotOwner, uint32_t>> oldest;
    uint64_t noted_at = UINT64_MAX;
    for (const auto& [owner, slots] : owners_) {
      if (!of_all && owner.key != key) continue;
      for (const auto& [id, kept] : slots) {
        n_tokens += kept.slot.tokens.size();
        if (kept.noted_at >= noted_at) continue;
        noted_at = kept.noted_at;
        oldest = {owner, id};
      }
    }
    if (n_tokens <= max_tokens || !oldest) return;
    erase(oldest->first, oldest->second);
  }
}

}  // namespace realizar::server
