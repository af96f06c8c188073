// A map from keys to sets, in parts that grow separately, so that no insertion takes long: growing a single hash table
// would move everything at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace realizar::grammar {

using SetId = uint32_t;

class SetMemo {
 public:
  // 0 if there is none. `key` is not 0, and its bits are well mixed.
  SetId find(uint64_t key) const;
  // The key must be new.
  void insert(uint64_t key, SetId set);
  size_t bytes() const { return n_slots_ * sizeof(Entry); }

 private:
  struct Entry {
    uint64_t key = 0;  // 0: free
    SetId set = 0;
  };
  // Open addressing, linear probing; a power of two of slots, at most half of them used.
  struct Part {
    std::vector<Entry> slots;
    size_t n_entries = 0;
  };
  static constexpr size_t kParts = 64;

  static void put(std::vector<Entry>& slots, Entry entry);
  void grow(Part& part);

  std::array<Part, kParts> parts_;
  size_t n_slots_ = 0;
};

}  // namespace realizar::grammar
