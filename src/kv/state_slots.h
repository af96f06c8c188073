// One sequence's slots for recurrent states, which are blocks of a separate pool: each holds the state of all recurrent
// layers after some number of positions. A step reads the current state and writes the one after its rows: in place if
// nobody else holds the slot and no prefix is named by it, else to another slot. So a snapshot costs no copy: it is a
// slot that is no longer written. A sequence holds at most three slots, or two if its mark is set or dropped before
// every step. One thread, that of its pool.
#pragma once

#include <cstdint>
#include <optional>

#include "kv/block_pool.h"

namespace realizar::kv {

inline constexpr uint32_t kMaxStatesHeld = 2;  // for a sequence that sets or drops its mark before every step

class StateSlots {
 public:
  // For a model without such states: holds nothing, and no step needs a slot.
  StateSlots() = default;
  explicit StateSlots(BlockPool* pool) : pool_(pool) {}
  StateSlots(StateSlots&& other) noexcept { *this = std::move(other); }
  StateSlots& operator=(StateSlots&& other) noexcept;
  ~StateSlots() { release(); }

  bool is_used() const { return pool_ != nullptr; }
  BlockPool& pool() const { return *pool_; }
  // Positions before the current state; 0 if there is none, and the next step begins with zeros.
  uint32_t n_positions() const { return n_positions_; }
  std::optional<BlockId> slot() const { return slot_; }
  // The slots that the next step reads and writes; the same one if it writes in place. Precondition: reserve.
  BlockId from() const { return slot_ ? *slot_ : to(); }
  BlockId to() const { return in_place_ ? *slot_ : *spare_; }

  // Takes a slot for the next step, which ends at n_positions, and decides whether the step writes in place: slots that
  // others release later do not change that. False: no slot is free.
  bool reserve(uint32_t n_positions);
  // Call after the step has run.
  void advance();
  // Continues from a state that is already held for this sequence.
  void adopt(BlockId slot, uint32_t n_positions);
  // Keeps the current state, so that back_to_mark can return to it. There is only one mark.
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
  bool in_place_ = false;  // for the next step
};

}  // namespace realizar::kv
