#include "backend/kv_types.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "base/try.h"

namespace realizar {

Result<size_t> kv_vector_bytes(KvType kv_type, uint32_t dim) {
  const TypeTraits& type = kv_traits(kv_type);
  if (dim % type.block_elems != 0) {
    return unsupported("a KV cache of type " + std::string(type.name) + " needs a head_dim of a multiple of " +
                           std::to_string(type.block_elems) + "; this model's is " + std::to_string(dim),
                       "kv_type");
  }
  return row_bytes(type, dim);
}

uint64_t cache_bytes(const CacheLayout& layout) {
  const LayerGroups groups = layout.groups();
  std::vector<uint64_t> slot_numbers(groups.n_slots);  // per position
  for (size_t layer = 0; layer < layout.layers.size(); ++layer) {
    const auto* own = std::get_if<Paged>(&layout.layers[layer]);
    if (own == nullptr) continue;
    uint64_t& n = slot_numbers[groups.places[layer].slot];
    n = std::max(n, uint64_t{own->n_kv_heads} * (own->k_dim + own->v_dim));
  }
  const uint64_t n_numbers = std::accumulate(slot_numbers.begin(), slot_numbers.end(), uint64_t{0});
  const uint64_t n_positions = uint64_t{layout.n_blocks} * layout.block_tokens;
  const double n_bytes = static_cast<double>(row_bytes(kv_traits(layout.type), 32)) / 32 *
                             static_cast<double>(n_numbers) * static_cast<double>(n_positions) +
                         static_cast<double>(layout.n_states) * static_cast<double>(state_bytes(layout.layers));
  if (n_bytes >= 0x1p63) return UINT64_MAX;
  return row_bytes(kv_traits(layout.type), 32) * (n_numbers * n_positions) / 32 +
         uint64_t{layout.n_states} * state_bytes(layout.layers);
}

}  // namespace realizar
