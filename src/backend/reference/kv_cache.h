// The reference backend's paged KV cache: vectors in the cache's type, with its real rounding. A layer's part of a
// block is [n_kv_heads] pages of [block_tokens] keys, then as many values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "backend/kv_types.h"
#include "base/try.h"

namespace realizar {

struct KvPlace {
  uint32_t layer, kv_head;
  Pos pos;
};

class ReferenceKvCache {
 public:
  Status create(const CacheLayout& layout) {
    type_ = layout.type;
    block_tokens_ = layout.block_tokens;
    layers_.clear();
    std::vector<size_t> layer_bytes;
    for (uint32_t i = 0; i < layout.layers.size(); ++i) {
      if (std::holds_alternative<Recurrent>(layout.layers[i])) {
        layers_.emplace_back();
        layer_bytes.push_back(0);
        continue;
      }
      RZ_TRY(const Paged own, paged(layout, i));
      Layer layer{own.n_kv_heads, own.k_dim, own.v_dim};
      RZ_TRY(layer.key_bytes, kv_vector_bytes(type_, own.k_dim));
      RZ_TRY(layer.value_bytes, kv_vector_bytes(type_, own.v_dim));
      layers_.push_back(layer);
      layer_bytes.push_back(size_t{own.n_kv_heads} * block_tokens_ * (layer.key_bytes + layer.value_bytes));
    }
    RZ_TRY(planes_, CachePlanes::create(layout.n_blocks, layout.groups(), layer_bytes));
    bytes_.assign(planes_.bytes(), std::byte{0});
    return {};
  }

  size_t bytes() const { return bytes_.size(); }
  uint32_t group_of(uint32_t layer) const { return planes_.group_of(layer); }

  size_t block_bytes() const { return planes_.block_bytes(); }
  void read_block(BlockId id, std::span<std::byte> bytes) const {
    planes_.for_each_part(id, [&](size_t offset, size_t in_block, size_t n_bytes) {
      std::copy_n(bytes_.data() + offset, n_bytes, bytes.data() + in_block);
    });
  }
  void write_block(BlockId id, std::span<const std::byte> bytes) {
    planes_.for_each_part(id, [&](size_t offset, size_t in_block, size_t n_bytes) {
      std::copy_n(bytes.data() + in_block, n_bytes, bytes_.data() + offset);
    });
  }
  void copy_block(BlockId from, BlockId to) {
    planes_.for_each_two_parts(from, to, [&](size_t offset_from, size_t offset_to, size_t n_bytes) {
      std::copy_n(bytes_.data() + offset_from, n_bytes, bytes_.data() + offset_to);
    });
  }
  void zero_block(BlockId id) {
    planes_.for_each_part(
        id, [&](size_t offset, size_t, size_t n_bytes) { std::fill_n(bytes_.data() + offset, n_bytes, std::byte{0}); });
  }

  void read_kv(uint32_t layer, BlockId id, std::span<float> keys, std::span<float> values) const {
    const Layer& own = layers_[layer];
    for (uint32_t row = 0; row < block_tokens_; ++row) {
      for (uint32_t head = 0; head < own.n_kv_heads; ++head) {
        const size_t at = size_t{row} * own.n_kv_heads + head;
        load_key({&id, 1}, {layer, head, Pos(row)}, keys.data() + at * own.k_dim);
        load_value({&id, 1}, {layer, head, Pos(row)}, values.data() + at * own.v_dim);
      }
    }
  }

  void store(std::span<const BlockId> blocks, const KvPlace& place, const float* key, const float* value) {
    kv_traits(type_).encode(key, bytes_.data() + key_at(blocks, place), layers_[place.layer].k_dim);
    if (layers_[place.layer].v_dim == 0) return;
    kv_traits(type_).encode(value, bytes_.data() + value_at(blocks, place), layers_[place.layer].v_dim);
  }
  void load_key(std::span<const BlockId> blocks, const KvPlace& place, float* key) const {
    kv_traits(type_).decode(bytes_.data() + key_at(blocks, place), key, layers_[place.layer].k_dim);
  }
  void load_value(std::span<const BlockId> blocks, const KvPlace& place, float* value) const {
    kv_traits(type_).decode(bytes_.data() + value_at(blocks, place), value, layers_[place.layer].v_dim);
  }

 private:
  struct Layer {
    uint32_t n_kv_heads, k_dim, v_dim;
    size_t key_bytes = 0, value_bytes = 0;  // per vector
  };
  size_t page_at(std::span<const BlockId> blocks, const KvPlace& place) const {
    const Layer& own = layers_[place.layer];
    return planes_.at(place.layer, blocks[static_cast<uint32_t>(place.pos) / block_tokens_]) +
           size_t{place.kv_head} * block_tokens_ * (own.key_bytes + own.value_bytes);
  }
  size_t key_at(std::span<const BlockId> blocks, const KvPlace& place) const {
    return page_at(blocks, place) + static_cast<uint32_t>(place.pos) % block_tokens_ * layers_[place.layer].key_bytes;
  }
  size_t value_at(std::span<const BlockId> blocks, const KvPlace& place) const {
    const Layer& own = layers_[place.layer];
    return page_at(blocks, place) + block_tokens_ * own.key_bytes +
           static_cast<uint32_t>(place.pos) % block_tokens_ * own.value_bytes;
  }

  uint32_t block_tokens_ = 0;
  KvType type_ = KvType::kF16;
  std::vector<Layer> layers_;
  CachePlanes planes_;
  std::vector<std::byte> bytes_;
};

}  // namespace realizar
