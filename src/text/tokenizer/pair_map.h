// A hash map from a pair of 32-bit numbers to a small value: open addressing, filled once and then only read.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace realizar::text {

template <class Value>
class PairMap {
 public:
  explicit PairMap(size_t max_entries = 0) : slots_(std::bit_ceil(max_entries + max_entries / 2 + 2)) {}

  // Replaces the value of an existing pair. At most `max_entries` different pairs may be set, none of them with first
  // == 0xFFFFFFFF.
  void set(uint32_t first, uint32_t second, Value value) {
    Slot& slot = slots_[locate(first, second)];
    slot = {first, second, value};
  }
  const Value* find(uint32_t first, uint32_t second) const {
    const Slot& slot = slots_[locate(first, second)];
    return slot.first == kEmpty ? nullptr : &slot.value;
  }

 private:
  static constexpr uint32_t kEmpty = 0xFFFFFFFF;
  struct Slot {
    uint32_t first = kEmpty;
    uint32_t second = 0;
    Value value{};
  };

  size_t locate(uint32_t first, uint32_t second) const {
    const uint64_t key = (static_cast<uint64_t>(first) << 32) | second;
    const uint64_t product = key * 0x9E3779B97F4A7C15u;
    const size_t mask = slots_.size() - 1;
    size_t at = (product ^ (product >> 32)) & mask;
    while (slots_[at].first != kEmpty && (slots_[at].first != first || slots_[at].second != second))
      at = (at + 1) & mask;
    return at;
  }

  std::vector<Slot> slots_;  // a power of two, at most two thirds full
};

}  // namespace realizar::text
