// Blocks of the KV cache that the device has no room for, in memory of the host.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "engine/counters.h"
#include "kv/block_pool.h"

namespace realizar::engine {

class HostBlocks final : public kv::BlockStore {
 public:
  // Takes memory when a place is first filled, never more than n_places blocks.
  HostBlocks(Backend& backend, uint32_t n_places, EngineCounters& counters)
      : backend_(backend), places_(n_places), counters_(counters) {}

  bool save(BlockId id, uint32_t place) override;
  void restore(uint32_t place, BlockId id) override;
  void copy(BlockId from, BlockId to) override { backend_.copy_block(from, to); }
  // Once the copies into it are done.
  void wipe(uint32_t place) { std::ranges::fill(places_[place], std::byte{0}); }

 private:
  Backend& backend_;
  std::vector<std::span<std::byte>> places_;
  EngineCounters& counters_;
};

}  // namespace realizar::engine
