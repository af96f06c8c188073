#include "backend/cpu/kv_store.h"

#include <array>
#include <cstring>
#include <string>

#include "base/try.h"

namespace realizar::cpu {
namespace {

// The largest key: it is encoded on the stack and then written into its panel.
constexpr size_t kMaxKeyBytes = 4096;

}  // namespace

Result<KvStore::Layer> KvStore::layer_of(const Paged& paged) const {
  Layer layer{.n_kv_heads = paged.n_kv_heads, .k_dim = paged.k_dim, .v_dim = paged.v_dim};
  RZ_TRY(const size_t key_bytes, kv_vector_bytes(type_, paged.k_dim));
  RZ_TRY(layer.value_bytes, kv_vector_bytes(type_, paged.v_dim));
  if (key_bytes > kMaxKeyBytes) {
    return unsupported("the cpu backend keeps keys of at most " + std::to_string(kMaxKeyBytes) +
                           " bytes, and this model's take " + std::to_string(key_bytes),
                       "head_dim");
  }
  layer.key_panel_bytes = panel_bytes(key_type_, paged.k_dim);
  layer.page_bytes = block_tokens_ / kPanelRows * layer.key_panel_bytes + block_tokens_ * layer.value_bytes;
  return layer;
}

Status KvStore::create(const CacheLayout& layout) {
  if (layout.block_tokens % kPanelRows != 0) {
    return invalid_argument("a KV block holds a multiple of 16 positions, not " + std::to_string(layout.block_tokens),
                            "block_tokens");
  }
  block_tokens_ = layout.block_tokens;
  type_ = layout.type;
  key_type_ = kv_traits(layout.type).id;
  layers_.clear();
  std::vector<size_t> layer_bytes;
  for (uint32_t i = 0; i < layout.layers.size(); ++i) {
    if (std::holds_alternative<Recurrent>(layout.layers[i])) {
      layers_.emplace_back();
      layer_bytes.push_back(0);
      continue;
    }
    RZ_TRY(const Paged own, paged(layout, i));
    RZ_TRY(const Layer layer, layer_of(own));
    layers_.push_back(layer);
    layer_bytes.push_back(layer.n_kv_heads * layer.page_bytes);
  }
  RZ_TRY(planes_, CachePlanes::create(layout.n_blocks, layout.groups(), layer_bytes));
  RZ_TRY(pages_, Pages::allocate(planes_.bytes()));
  return {};
}

void KvStore::read_block(BlockId id, std::span<std::byte> bytes) const {
  planes_.for_each_part(id, [&](size_t offset, size_t in_block, size_t n_bytes) {
    std::memcpy(bytes.data() + in_block, at(offset), n_bytes);
  });
}

void KvStore::write_block(BlockId id, std::span<const std::byte> bytes) const {
  planes_.for_each_part(id, [&](size_t offset, size_t in_block, size_t n_bytes) {
    std::memcpy(at(offset), bytes.data() + in_block, n_bytes);
  });
}

void KvStore::copy_block(BlockId from, BlockId to) const {
  planes_.for_each_two_parts(from, to, [&](size_t offset_from, size_t offset_to, size_t n_bytes) {
    std::memcpy(at(offset_to), at(offset_from), n_bytes);
  });
}

void KvStore::zero_block(BlockId id) const {
  planes_.for_each_part(id, [&](size_t offset, size_t, size_t n_bytes) { std::memset(at(offset), 0, n_bytes); });
}

void KvStore::read_kv(const KernelTable& kernels, uint32_t layer, BlockId id, std::span<float> keys,
                      std::span<float> values) const {
  const auto [n_heads, k_dim, v_dim, key_panel_bytes, value_bytes, page_bytes] = layers_[layer];
  const auto unpack = kernels_of(kernels, key_type_).unpack_f32;
  std::vector<float> tile(size_t{k_dim} * kPanelRows);
  for (uint32_t head = 0; head < n_heads; ++head) {
    for (uint32_t row = 0; row < block_tokens_; ++row) {
      const size_t at = size_t{row} * n_heads + head;
      if (row % kPanelRows == 0) unpack(this->keys({&id, 1}, layer, head, row), 0, k_dim, tile.data());
      for (uint32_t i = 0; i < k_dim; ++i) keys[at * k_dim + i] = tile[size_t{i} * kPanelRows + row % kPanelRows];
      const auto* value = reinterpret_cast<const std::byte*>(this->values({&id, 1}, layer, head, row));
      kv_traits(type_).decode(value, values.data() + at * v_dim, v_dim);
    }
  }
}

void KvStore::store(std::span<const BlockId> blocks, uint32_t layer, uint32_t head, uint32_t pos, const float* key,
                    const float* value) const {
  const TypeTraits& type = kv_traits(type_);
  const Layer& own = layers_[layer];
  std::array<std::byte, kMaxKeyBytes> encoded;  // initialized as far as it is read
  type.encode(key, encoded.data(), own.k_dim);
  put_row(key_type_, encoded.data(), own.k_dim, pos % kPanelRows, keys(blocks, layer, head, pos));
  if (own.v_dim == 0) return;
  type.encode(value, reinterpret_cast<std::byte*>(values(blocks, layer, head, pos)), own.v_dim);
}

}  // namespace realizar::cpu
