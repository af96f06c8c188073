#include "backend/cpu/kv_store.h"

#include <cstring>
#include <vector>

namespace realizar {

Status KvStore::create(const KvLayout& layout) {
  if (layout.block_tokens % kPanelRows != 0) {
    return invalid_argument("a KV block holds a multiple of 16 positions, not " + std::to_string(layout.block_tokens),
                            "block_tokens");
  }
  layout_ = layout;
  key_type_ = kv_traits(layout.type).id;
  RZ_TRY(value_bytes_, kv_vector_bytes(layout));
  key_panel_bytes_ = panel_bytes(key_type_, layout.head_dim);
  RZ_CHECK_OK(kv_cache_bytes(layout));
  const size_t tiles_a_page = layout.block_tokens / kPanelRows;
  page_bytes_ = tiles_a_page * key_panel_bytes_ + layout.block_tokens * value_bytes_;
  RZ_TRY(pages_, Pages::allocate(size_t{layout.n_layers} * layout.n_blocks * layout.n_kv_heads * page_bytes_));
  return {};
}

void KvStore::read_block(BlockId id, std::span<std::byte> bytes) const {
  for (uint32_t layer = 0; layer < layout_.n_layers; ++layer) {
    std::memcpy(bytes.data() + layer * layer_bytes(), layer_of(id, layer), layer_bytes());
  }
}

void KvStore::write_block(BlockId id, std::span<const std::byte> bytes) const {
  for (uint32_t layer = 0; layer < layout_.n_layers; ++layer) {
    std::memcpy(layer_of(id, layer), bytes.data() + layer * layer_bytes(), layer_bytes());
  }
}

void KvStore::copy_block(BlockId from, BlockId to) const {
  for (uint32_t layer = 0; layer < layout_.n_layers; ++layer) {
    std::memcpy(layer_of(to, layer), layer_of(from, layer), layer_bytes());
  }
}

void KvStore::zero_block(BlockId id) const {
  for (uint32_t layer = 0; layer < layout_.n_layers; ++layer) std::memset(layer_of(id, layer), 0, layer_bytes());
}

void KvStore::read_kv(const KernelTable& kernels, uint32_t layer, BlockId id, std::span<float> keys,
                      std::span<float> values) const {
  const uint32_t n_heads = layout_.n_kv_heads, head_dim = layout_.head_dim;
  const auto unpack = kernels_of(kernels, key_type_).unpack_f32;
  std::vector<float> tile(size_t{head_dim} * kPanelRows);
  for (uint32_t head = 0; head < n_heads; ++head) {
    for (uint32_t row = 0; row < layout_.block_tokens; ++row) {
      const size_t at = (size_t{row} * n_heads + head) * head_dim;
      if (row % kPanelRows == 0) unpack(this->keys({&id, 1}, layer, head, row), 0, head_dim, tile.data());
      for (uint32_t i = 0; i < head_dim; ++i) keys[at + i] = tile[size_t{i} * kPanelRows + row % kPanelRows];
      const auto* value = reinterpret_cast<const std::byte*>(this->values({&id, 1}, layer, head, row));
      kv_traits(layout_.type).decode(value, values.data() + at, head_dim);
    }
  }
}

void KvStore::store(std::span<const BlockId> blocks, uint32_t layer, uint32_t head, uint32_t pos, const float* key,
                    const float* value) const {
  const TypeTraits& type = kv_traits(layout_.type);
  std::byte* to = reinterpret_cast<std::byte*>(values(blocks, layer, head, pos));
  // The key passes through the place of the value, which is written after it.
  type.encode(key, to, layout_.head_dim);
  put_row(key_type_, to, layout_.head_dim, pos % kPanelRows, keys(blocks, layer, head, pos));
  type.encode(value, to, layout_.head_dim);
}

}  // namespace realizar
