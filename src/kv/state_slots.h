// What one sequence has of the slots for recurrent states, which are blocks of a pool of their own: each holds the
// state of all recurrent layers after some number of positions. A step reads the state that is there and writes the one
// after its rows, in place where nobody else holds the slot and no prefix can be found in it, else in another slot. So
// a snapshot costs no copy: it is a slot that nobody writes any more. A sequence holds three slots at most, two where
// its mark is set or dropped before every step. One thread, that of its pool.
#pragma once

#include <cstdint>
#include <optional>

#include "kv/block_pool.h"

namespace realizar::kv {

inline constexpr uint32_t kMaxStatesHeld = 2;  // of a sequence that sets or drops its mark before every step

class StateSlots {
 public:
  // Of a model without such states: holds nothing, and no step needs a slot.
  StateSlots() = default;
  explicit StateSlots(BlockPool* pool) : pool_(pool) {}
  StateSlots(StateSlots&& other) noexcept { *this = std::move(other); }
  StateSlots& operator=(StateSlots&& other) noexcept;
  ~StateSlots() { release(); }

  bool is_used() const { return pool_ != nullptr; }
  BlockPool& pool() const { return *pool_; }
  // Positions that the state comes after; 0: there is none, and the next step begins with zeros.
  uint32_t n_positions() const { return n_positions_; }
  std::optional<BlockId> slot() const { return slot_; }
  // What the next step reads and writes; the same where it writes in place. Precondition: reserve.
  BlockId from() const { return slot_ ? *slot_ : to(); }
  BlockId to() const { return in_place_ ? *slot_ : *spare_; }

  // Has a slot for the next step, which ends at n_positions, and decides whether it writes in place: what others let go
  // of meanwhile changes nothing. False: no slot is free.
  bool reserve(uint32_t n_positions);
  // The step has run.
  void advance();
  // Goes on from a state that is held for it already.
  void adopt(BlockId slot, uint32_t n_positions);
  // The state that is there stays, so that back_to_mark can return to it. It is the only one.
  void mark();
  void drop_mark();
  std::optional<uint32_t> marked() const { return marked_ ? std::optional(n_marked_) : std::nullopt; }
  void back_to_mark();
  void release();

 private:
  void give_back(std::optional<BlockId>& slot);

  BlockPool* pool_ = nullptr;
  std::optional<BlockId> slot_, spare_, marked_;
  uint32_t n_positions_ = 0, n_next_ = 0, n_marked_ = 0;
  bool in_place_ = false;  // the next step
};

}  // namespace realizar::kv
