#include "engine/host_blocks.h"

#include "base/caught.h"

namespace realizar::engine {

bool HostBlocks::save(BlockId id, uint32_t place) {
  std::span<std::byte>& bytes = places_[place];
  // Without memory for it a block loses its name, and nothing else happens.
  const bool has_place = caught([&] {
                           if (bytes.empty()) bytes = backend_.allocate_host(backend_.block_bytes());
                         }).ok() &&
                         !bytes.empty();
  if (!has_place) return false;
  backend_.save_block(id, bytes);
  return true;
}

void HostBlocks::restore(uint32_t place, BlockId id) {
  backend_.restore_block(id, places_[place]);
  counters_.n_restored_blocks.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace realizar::engine
