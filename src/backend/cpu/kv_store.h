// The paged KV cache's bytes: [n_layers, n_blocks, n_kv_heads, block_tokens] vectors of one head, keys and values
// apart.
#pragma once

#include "backend/cpu/pages.h"
#include "backend/kv_types.h"

namespace realizar {

class KvStore {
 public:
  Status create(const KvLayout& layout) {
    layout_ = layout;
    RZ_TRY(vector_bytes_, kv_vector_bytes(layout));
    RZ_TRY(const size_t n_bytes, kv_cache_bytes(layout));
    RZ_TRY(keys_, Pages::allocate(n_bytes / 2));
    RZ_TRY(values_, Pages::allocate(n_bytes / 2));
    return {};
  }

  size_t bytes() const { return keys_.size() + values_.size(); }
  const KvLayout& layout() const { return layout_; }

  std::byte* key(std::span<const BlockId> blocks, uint32_t layer, uint32_t head, uint32_t pos) const {
    return keys_.as<std::byte>() + offset(blocks, layer, head, pos);
  }
  std::byte* value(std::span<const BlockId> blocks, uint32_t layer, uint32_t head, uint32_t pos) const {
    return values_.as<std::byte>() + offset(blocks, layer, head, pos);
  }

 private:
  size_t offset(std::span<const BlockId> blocks, uint32_t layer, uint32_t head, uint32_t pos) const {
    const size_t block = to_index(blocks[pos / layout_.block_tokens]);
    const size_t page = (size_t{layer} * layout_.n_blocks + block) * layout_.n_kv_heads + head;
    return (page * layout_.block_tokens + pos % layout_.block_tokens) * vector_bytes_;
  }

  KvLayout layout_;
  size_t vector_bytes_ = 0;
  Pages keys_, values_;
};

}  // namespace realizar
