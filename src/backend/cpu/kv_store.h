// The paged KV cache's bytes: [n_layers, n_blocks, n_kv_heads] pages, so that a thread that takes some positions for
// all heads reads on and on. A page holds the keys of a block, then its values. Keys lie as panels (panels.h): 16
// positions are the rows of a matrix with head_dim columns, so that scores are a product with a panel. Values lie as
// plain vectors [block_tokens, head_dim].
#pragma once

#include "backend/cpu/pages.h"
#include "backend/cpu/panels.h"
#include "backend/kv_types.h"

namespace realizar {

class KvStore {
 public:
  // Errors: InvalidArgument (block_tokens is no multiple of 16), Unsupported, ResourceExhausted.
  Status create(const KvLayout& layout);

  size_t bytes() const { return pages_.size(); }
  const KvLayout& layout() const { return layout_; }
  TypeId key_type() const { return key_type_; }
  size_t value_bytes() const { return value_bytes_; }  // of one position

  // One block of all layers and heads.
  size_t block_bytes() const { return size_t{layout_.n_layers} * layer_bytes(); }
  void read_block(BlockId id, std::span<std::byte> bytes) const;
  void write_block(BlockId id, std::span<const std::byte> bytes) const;
  void copy_block(BlockId from, BlockId to) const;
  void zero_block(BlockId id) const;

  // As Backend::read_kv has it.
  void read_kv(const KernelTable& kernels, uint32_t layer, BlockId id, std::span<float> keys,
               std::span<float> values) const;

  // F32 [head_dim] each, for position `pos` of the sequence that `blocks` belongs to.
  void store(std::span<const BlockId> blocks, uint32_t layer, uint32_t head, uint32_t pos, const float* key,
             const float* value) const;
  // The panel of keys that holds `pos`.
  uint8_t* keys(std::span<const BlockId> blocks, uint32_t layer, uint32_t head, uint32_t pos) const {
    return page(blocks, layer, head, pos) + pos % layout_.block_tokens / kPanelRows * key_panel_bytes_;
  }
  // The value of `pos`; those of the rest of its block follow.
  uint8_t* values(std::span<const BlockId> blocks, uint32_t layer, uint32_t head, uint32_t pos) const {
    return page(blocks, layer, head, pos) + layout_.block_tokens / kPanelRows * key_panel_bytes_ +
           pos % layout_.block_tokens * value_bytes_;
  }

 private:
  // The bytes of one block in one layer: its heads' pages lie side by side.
  size_t layer_bytes() const { return layout_.n_kv_heads * page_bytes_; }
  std::byte* layer_of(BlockId id, uint32_t layer) const {
    return pages_.as<std::byte>() + (size_t{layer} * layout_.n_blocks + to_index(id)) * layer_bytes();
  }
  uint8_t* page(std::span<const BlockId> blocks, uint32_t layer, uint32_t head, uint32_t pos) const {
    const size_t block = to_index(blocks[pos / layout_.block_tokens]);
    return pages_.as<uint8_t>() +
           ((size_t{layer} * layout_.n_blocks + block) * layout_.n_kv_heads + head) * page_bytes_;
  }

  KvLayout layout_;
  TypeId key_type_ = TypeId::kF32;
  size_t key_panel_bytes_ = 0, value_bytes_ = 0, page_bytes_ = 0;
  Pages pages_;
};

}  // namespace realizar
