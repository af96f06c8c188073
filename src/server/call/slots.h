// Slots in the sense of llama.cpp's clients: the text that a key's last requests left under a number. Sequences here
// have no fixed slots, so a slot is only that text; its keys and values are found in the cache. I/O thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "realizar/types.h"
#include "server/http/auth.h"

namespace realizar::server {

struct Slot {
  std::vector<TokenId> tokens;
  uint64_t cache_salt = 0;  // of its cached blocks
};

// The key and the model of slots.
struct SlotOwner {
  std::string model;
  KeyDigest key{};
  bool operator<(const SlotOwner& other) const { return std::tie(model, key) < std::tie(other.model, other.key); }
};

class SlotTable {
 public:
  // A key has a quarter of max_tokens; beyond that its oldest slots are forgotten.
  explicit SlotTable(size_t max_tokens = size_t{16} << 20) : max_tokens_(max_tokens) {}

  // A request of `owner` has left this text. `wanted`: the slot that it named; below 0: the one whose text it
  // continues, else an empty one, else the oldest. Slots at or above n_slots are not used.
  void note(const SlotOwner& owner, int64_t wanted, uint32_t n_slots, Slot slot);
  // Null: the slot is empty.
  const Slot* find(const SlotOwner& owner, uint32_t id) const;
  void put(const SlotOwner& owner, uint32_t id, Slot slot);
  void erase(const SlotOwner& owner, uint32_t id);
  // Forgets all of a key's slots.
  void forget(const KeyDigest& key);

  // Only one slot of a model is saved or restored at a time. False: another one is.
  bool begin_transfer(const std::string& model) { return busy_.insert(model).second; }
  void end_transfer(const std::string& model) { busy_.erase(model); }

 private:
  struct Kept {
    Slot slot;
    uint64_t noted_at = 0;
  };
  using Slots = std::map<uint32_t, Kept>;

  static uint32_t choose(const Slots& slots, uint32_t n_slots, std::span<const TokenId> tokens);
  void make_room(const KeyDigest& key, size_t max_tokens, bool of_all);

  const size_t max_tokens_;
  std::map<SlotOwner, Slots> owners_;  // none is empty
  std::set<std::string> busy_;
  uint64_t n_noted_ = 0;
};

}  // namespace realizar::server
