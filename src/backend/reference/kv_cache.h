// The reference backend's paged KV cache: vectors stored in the cache's type, through its real rounding.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "backend/kv_types.h"

namespace realizar {

struct KvPlace {
  uint32_t layer, kv_head;
  Pos pos;
};

class ReferenceKvCache {
 public:
  Status create(const KvLayout& layout) {
    layout_ = layout;
    RZ_TRY(vector_bytes_, kv_vector_bytes(layout));
    RZ_TRY(const size_t n_bytes, kv_cache_bytes(layout));
    keys_.resize(n_bytes / 2);
    values_.resize(n_bytes / 2);
    return {};
  }

  size_t bytes() const { return keys_.size() + values_.size(); }

  // One block: keys, then values, layer by layer.
  size_t block_bytes() const { return size_t{2} * layout_.n_layers * layer_bytes(); }
  void read_block(BlockId id, std::span<std::byte> bytes) const {
    for (uint32_t layer = 0; layer < layout_.n_layers; ++layer) {
      std::byte* to = bytes.data() + size_t{2} * layer * layer_bytes();
      std::copy_n(keys_.begin() + at(id, layer), layer_bytes(), to);
      std::copy_n(values_.begin() + at(id, layer), layer_bytes(), to + layer_bytes());
    }
  }
  void write_block(BlockId id, std::span<const std::byte> bytes) {
    for (uint32_t layer = 0; layer < layout_.n_layers; ++layer) {
      const std::byte* from = bytes.data() + size_t{2} * layer * layer_bytes();
      std::copy_n(from, layer_bytes(), keys_.begin() + at(id, layer));
      std::copy_n(from + layer_bytes(), layer_bytes(), values_.begin() + at(id, layer));
    }
  }

  void copy_block(BlockId from, BlockId to) {
    for (uint32_t layer = 0; layer < layout_.n_layers; ++layer) {
      std::copy_n(keys_.begin() + at(from, layer), layer_bytes(), keys_.begin() + at(to, layer));
      std::copy_n(values_.begin() + at(from, layer), layer_bytes(), values_.begin() + at(to, layer));
    }
  }
  void zero_block(BlockId id) {
    for (uint32_t layer = 0; layer < layout_.n_layers; ++layer) {
      std::fill_n(keys_.begin() + at(id, layer), layer_bytes(), std::byte{0});
      std::fill_n(values_.begin() + at(id, layer), layer_bytes(), std::byte{0});
    }
  }

  void read_kv(uint32_t layer, BlockId id, std::span<float> keys, std::span<float> values) const {
    const uint32_t n_heads = layout_.n_kv_heads;
    for (uint32_t row = 0; row < layout_.block_tokens; ++row) {
      for (uint32_t head = 0; head < n_heads; ++head) {
        const size_t at = (size_t{row} * n_heads + head) * layout_.head_dim;
        load_key({&id, 1}, {layer, head, Pos(row)}, keys.data() + at);
        load_value({&id, 1}, {layer, head, Pos(row)}, values.data() + at);
      }
    }
  }

  void store(std::span<const BlockId> blocks, const KvPlace& place, const float* key, const float* value) {
    kv_traits(layout_.type).encode(key, keys_.data() + offset(blocks, place), layout_.head_dim);
    kv_traits(layout_.type).encode(value, values_.data() + offset(blocks, place), layout_.head_dim);
  }
  void load_key(std::span<const BlockId> blocks, const KvPlace& place, float* key) const {
    kv_traits(layout_.type).decode(keys_.data() + offset(blocks, place), key, layout_.head_dim);
  }
  void load_value(std::span<const BlockId> blocks, const KvPlace& place, float* value) const {
    kv_traits(layout_.type).decode(values_.data() + offset(blocks, place), value, layout_.head_dim);
  }

 private:
  size_t layer_bytes() const { return size_t{layout_.n_kv_heads} * layout_.block_tokens * vector_bytes_; }
  std::ptrdiff_t at(BlockId id, uint32_t layer) const {
    return static_cast<std::ptrdiff_t>((size_t{layer} * layout_.n_blocks + to_index(id)) * layer_bytes());
  }
  // [n_layers, n_blocks, n_kv_heads, block_tokens] vectors
  size_t offset(std::span<const BlockId> blocks, const KvPlace& place) const {
    const auto pos = static_cast<uint32_t>(place.pos);
    const size_t block = to_index(blocks[pos / layout_.block_tokens]);
    const size_t page = (size_t{place.layer} * layout_.n_blocks + block) * layout_.n_kv_heads + place.kv_head;
    return (page * layout_.block_tokens + pos % layout_.block_tokens) * vector_bytes_;
  }

  KvLayout layout_;
  size_t vector_bytes_ = 0;
  std::vector<std::byte> keys_, values_;
};

}  // namespace realizar
