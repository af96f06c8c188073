#include "backend/state_layout.h"

#include <string>

namespace realizar {

CacheLayout::CacheLayout(const KvLayout& alike)
    : layers(alike.n_layers, Paged{alike.n_kv_heads, alike.head_dim, alike.head_dim, 0}),
      block_tokens(alike.block_tokens),
      n_blocks(alike.n_blocks),
      type(alike.type) {}

Result<Paged> paged(const CacheLayout& layout, uint32_t layer) {
  const auto* own = std::get_if<Paged>(&layout.layers[layer]);
  if (own != nullptr) return *own;
  return unsupported("layer " + std::to_string(layer) + " keeps a recurrent state, which this backend has no room for",
                     "layers");
}

Result<KvLayout> alike(const CacheLayout& layout) {
  KvLayout all{.n_layers = static_cast<uint32_t>(layout.layers.size()),
               .block_tokens = layout.block_tokens,
               .n_blocks = layout.n_blocks,
               .type = layout.type};
  for (uint32_t layer = 0; layer < all.n_layers; ++layer) {
    RZ_TRY(const Paged own, paged(layout, layer));
    if (layer == 0) {
      all.n_kv_heads = own.n_kv_heads;
      all.head_dim = own.k_dim;
    }
    if (own.n_kv_heads == all.n_kv_heads && own.k_dim == all.head_dim && own.v_dim == all.head_dim) continue;
    return unsupported("this backend keeps " + std::to_string(all.n_kv_heads) + " keys and values of " +
                           std::to_string(all.head_dim) + " numbers a position in every layer; layer " +
                           std::to_string(layer) + " keeps " + std::to_string(own.n_kv_heads) + " of " +
                           std::to_string(own.k_dim) + " and " + std::to_string(own.v_dim),
                       "layers");
  }
  return all;
}

Result<CachePlanes> CachePlanes::create(uint32_t n_blocks, std::span<const size_t> layer_bytes) {
  CachePlanes planes;
  planes.n_blocks_ = n_blocks;
  size_t end = 0;
  for (const size_t part_bytes : layer_bytes) {
    planes.planes_.push_back({end, part_bytes});
    planes.block_bytes_ += part_bytes;
    size_t plane_bytes = 0;
    if (__builtin_mul_overflow(part_bytes, size_t{n_blocks}, &plane_bytes) ||
        __builtin_add_overflow(end, plane_bytes, &end)) {
      return Error{ErrorCode::kResourceExhausted, "the KV cache would be larger than the address space", "ctx"};
    }
  }
  return planes;
}

}  // namespace realizar
