// What llama.cpp's clients call slots: which text a key's last requests left under a number. Sequences have no fixed
// places here, so a slot is that text alone; its keys and values are found in the cache. I/O thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
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
  uint64_t cache_salt = 0;  // under which the cache has them
};

// Whose slots of which model.
struct SlotOwner {
  std::string model;
  KeyDigest key{};
  bool operator<(const SlotOwner& other) const { return std::tie(model, key) < std::tie(other.model, other.key); }
};

class SlotTable {
 public:
  // A key has a quarter of max_tokens; beyond that its oldest slots are forgotten.
  explicit SlotTable(size_t max_tokens = size_t{16} << 20) : max_tokens_(max_tokens) {}

  // A request of `owner` has left this text. `wanted`: the slot that it named; below 0: the one whose text it goes on
  // with, else one that is empty, else the oldest. No slot at or above n_slots is used.
  void note(const SlotOwner& owner, int64_t wanted, uint32_t n_slots, Slot slot);
  // Null: the slot is empty.
  const Slot* find(const SlotOwner& owner, uint32_t id) const;
  void put(const SlotOwner& owner, uint32_t id, Slot slot);
  void erase(const SlotOwner& owner, uint32_t id);
  // Forgets all of a key's slots.
  void forget(const KeyDigest& key);

  // One slot of a model is saved or restored at a time. False: one is.
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
