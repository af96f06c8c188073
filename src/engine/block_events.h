// Changes in an engine's cache, for a reader that reports them to others: names of whole blocks that appear and
// disappear. The engine's thread writes them to a bounded ring and never waits: within a step it neither allocates nor
// locks here. Events that do not fit are lost; the reader learns of that and gets a new snapshot. One writer (the
// engine's thread), one reader thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kv/sequence_cache.h"

namespace realizar::engine {

struct BlockEvent {
  enum class Kind : uint32_t {
    kNamed,
    kForgotten,
    kAllForgotten,
    kToldAnew,  // like kAllForgotten; the names that exist follow, in any order, between newer events
  };
  Kind kind = Kind::kNamed;
  uint32_t group = 0;  // of layers; states of recurrent layers are the last group
  uint64_t hash = 0, parent_hash = 0;
  std::span<const TokenId> tokens = {};  // of a named block; valid until pop()
};

class BlockEvents {
 public:
  static constexpr uint32_t kCapacity = 8192;  // events: enough for dozens of full steps
  static constexpr uint32_t kPiece = 2048;     // names of a snapshot reported between two steps

  explicit BlockEvents(kv::CachePools pools, uint32_t capacity = kCapacity);
  BlockEvents(const BlockEvents&) = delete;
  BlockEvents& operator=(const BlockEvents&) = delete;

  uint32_t block_tokens() const { return block_tokens_; }
  // The positions that a row of each group sees, 0: all. States of recurrent layers are a further group.
  std::span<const uint32_t> windows() const { return windows_; }
  bool has_states() const { return has_states_; }

  // For the engine's owner, before its thread begins: observes the pools until end(), and reports some of the names.
  void begin();
  // The engine ends: no more events follow.
  void end();
  // Called on the engine's thread between steps: reports some of all names, from the beginning if anything was lost.
  void tell_some();

  // For the reader. Null: no event now. An event is valid until pop().
  const BlockEvent* front() const;
  void pop() { n_read_.store(n_read_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }
  // Whether tell_some() should be called: events were lost, or the snapshot is incomplete. Clears the request.
  bool take_wish() { return wishes_.exchange(false, std::memory_order_acquire); }
  // For the reader, if the engine could not be reached.
  void wish_again() { wishes_.store(true, std::memory_order_release); }
  // Requests a new snapshot of all names, which begins with kToldAnew.
  void tell_anew();
  bool has_ended() const { return has_ended_.load(std::memory_order_acquire) && is_empty(); }

 private:
  class PoolObserver final : public kv::BlockPool::Observer {
   public:
    PoolObserver(BlockEvents& events, uint32_t first_group) : events_(events), first_group_(first_group) {}
    void on_named(const kv::BlockPool::Name& name) override;
    void on_forgotten(uint64_t hash, uint32_t group) override;
    void on_all_forgotten() override;

   private:
    BlockEvents& events_;
    const uint32_t first_group_;
  };

  bool is_empty() const {
    return n_read_.load(std::memory_order_relaxed) == n_written_.load(std::memory_order_acquire);
  }
  uint32_t n_room() const;
  void write(const BlockEvent& event);
  void list_names();

  const kv::CachePools pools_;
  const uint32_t block_tokens_, capacity_;
  const std::vector<uint32_t> windows_;
  const bool has_states_;
  PoolObserver of_blocks_, of_states_;
  std::vector<BlockEvent> ring_;      // [capacity]
  std::vector<TokenId> ring_tokens_;  // [capacity, block_tokens]
  alignas(64) std::atomic<uint64_t> n_written_{0};
  alignas(64) std::atomic<uint64_t> n_read_{0};
  std::atomic<bool> wishes_{false}, must_begin_anew_{false}, has_ended_{false};
  // For the writer only.
  bool is_lossy_ = true;                // nothing is written until a new snapshot
  std::vector<uint32_t> left_to_tell_;  // blocks, then slots of states; the next one is at the end
  size_t n_left_states_ = 0;
};

}  // namespace realizar::engine
