#include "engine/block_events.h"

#include <algorithm>

namespace realizar::engine {
namespace {

std::vector<uint32_t> windows_of(const kv::BlockPool& pool) {
  std::vector<uint32_t> windows;
  for (uint32_t group = 0; group < pool.n_groups(); ++group) windows.push_back(pool.window(group));
  return windows;
}

}  // namespace

void BlockEvents::PoolObserver::on_named(const kv::BlockPool::Name& name) {
  events_.write({BlockEvent::Kind::kNamed, first_group_ + name.group, name.hash, name.parent_hash, name.tokens});
}

void BlockEvents::PoolObserver::on_forgotten(uint64_t hash, uint32_t group) {
  events_.write({BlockEvent::Kind::kForgotten, first_group_ + group, hash});
}

// Both pools are forgotten together, and the pool of blocks reports it.
void BlockEvents::PoolObserver::on_all_forgotten() {
  if (first_group_ == 0) events_.write({BlockEvent::Kind::kAllForgotten});
}

BlockEvents::BlockEvents(kv::CachePools pools, uint32_t capacity)
    : pools_(pools),
      block_tokens_(pools.blocks->block_tokens()),
      capacity_(capacity),
      windows_(windows_of(*pools.blocks)),
      has_states_(pools.states != nullptr),
      of_blocks_(*this, 0),
      of_states_(*this, pools.blocks->n_groups()),
      ring_(capacity),
      ring_tokens_(size_t{capacity} * block_tokens_) {}

void BlockEvents::begin() {
  pools_.blocks->set_observer(&of_blocks_);
  if (pools_.states != nullptr) pools_.states->set_observer(&of_states_);
  tell_some();
}

void BlockEvents::end() {
  pools_.blocks->set_observer(nullptr);
  if (pools_.states != nullptr) pools_.states->set_observer(nullptr);
  has_ended_.store(true, std::memory_order_release);
}

uint32_t BlockEvents::n_room() const {
  const uint64_t n_waiting = n_written_.load(std::memory_order_relaxed) - n_read_.load(std::memory_order_acquire);
  return capacity_ - static_cast<uint32_t>(n_waiting);
}

void BlockEvents::write(const BlockEvent& event) {
  if (is_lossy_) return;
  if (n_room() == 0) {
    is_lossy_ = true;
    return wish_again();
  }
  const uint64_t n_written = n_written_.load(std::memory_order_relaxed);
  const size_t slot = n_written % capacity_;
  const auto tokens = std::span(ring_tokens_).subspan(slot * block_tokens_, event.tokens.size());
  std::ranges::copy(event.tokens, tokens.begin());
  ring_[slot] = event;
  ring_[slot].tokens = tokens;
  n_written_.store(n_written + 1, std::memory_order_release);
}

void BlockEvents::tell_anew() {
  must_begin_anew_.store(true, std::memory_order_relaxed);
  wish_again();
}

void BlockEvents::list_names() {
  left_to_tell_.clear();
  for (const BlockId block : pools_.blocks->all_with_names()) left_to_tell_.push_back(to_index(block));
  const size_t n_blocks = left_to_tell_.size();
  if (pools_.states != nullptr) {
    for (const BlockId slot : pools_.states->all_with_names()) left_to_tell_.push_back(to_index(slot));
  }
  n_left_states_ = left_to_tell_.size() - n_blocks;
}

// Half of the ring is kept free for changes in the meantime.
void BlockEvents::tell_some() {
  if (must_begin_anew_.exchange(false, std::memory_order_relaxed)) is_lossy_ = true;
  if (is_lossy_ && n_room() > 0) {
    list_names();
    is_lossy_ = false;
    write({BlockEvent::Kind::kToldAnew});
  }
  const uint32_t most = std::min(kPiece, std::max(n_room(), capacity_ / 2) - capacity_ / 2);
  for (uint32_t i = 0; i < most && !left_to_tell_.empty(); ++i) {
    const bool is_state = n_left_states_ > 0;
    const kv::BlockPool& pool = is_state ? *pools_.states : *pools_.blocks;
    const kv::BlockPool::Name name = pool.name_of(BlockId{left_to_tell_.back()});
    left_to_tell_.pop_back();
    n_left_states_ -= is_state ? 1 : 0;
    const bool is_whole = name.hash != 0 && name.tokens.size() == block_tokens_;
    if (is_whole) (is_state ? of_states_ : of_blocks_).on_named(name);
  }
  if (is_lossy_ || !left_to_tell_.empty()) wish_again();
}

const BlockEvent* BlockEvents::front() const {
  return is_empty() ? nullptr : &ring_[n_read_.load(std::memory_order_relaxed) % capacity_];
}

}  // namespace realizar::engine
