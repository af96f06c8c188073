// Memory of the paged KV cache. A layer's part of a block is [n_kv_heads] pages; parts of consecutive blocks are
// adjacent, so that a thread that processes some positions for all heads reads sequentially. A page holds the keys of a
// block, then its values. Keys are packed in panels (packed_matrix.h): 16 positions are the rows of a matrix with k_dim
// columns, so that scores are products with panels. Values are plain vectors [block_tokens, v_dim].
#pragma once

#include <vector>

#include "backend/cpu/packed_matrix.h"
#include "backend/cpu/pages.h"
#include "backend/kv_types.h"

namespace realizar::cpu {

class KvStore {
 public:
  // Errors: InvalidArgument (block_tokens is no multiple of 16), Unsupported, ResourceExhausted.
  Status create(const CacheLayout& layout);

  size_t bytes() const { return pages_.size(); }
  KvType type() const { return type_; }
  TypeId key_type() const { return key_type_; }
  uint32_t group_of(uint32_t layer) const { return planes_.group_of(layer); }
  size_t value_bytes(uint32_t layer) const { return layers_[layer].value_bytes; }  // per position

  // One block of all layers and heads.
  size_t block_bytes() const { return planes_.block_bytes(); }
  void read_block(BlockId id, std::span<std::byte> bytes) const;
  void write_block(BlockId id, std::span<const std::byte> bytes) const;
  void copy_block(BlockId from, BlockId to) const;
  void zero_block(BlockId id) const;

  // Backend::read_kv.
  void read_kv(const KernelTable& kernels, uint32_t layer, BlockId id, std::span<float> keys,
               std::span<float> values) const;

  // F32 [k_dim] and [v_dim], at position `pos` of the sequence that `blocks` belongs to.
  void store(std::span<const BlockId> blocks, uint32_t layer, uint32_t head, uint32_t pos, const float* key,
             const float* value) const;
  // The panel of keys that contains `pos`.
  uint8_t* keys(std::span<const BlockId> blocks, uint32_t layer, uint32_t head, uint32_t pos) const {
    return page(blocks, layer, head, pos) + pos % block_tokens_ / kPanelRows * layers_[layer].key_panel_bytes;
  }
  // Positions from `pos` to the end of its block.
  uint32_t positions_left(uint32_t pos) const { return block_tokens_ - pos % block_tokens_; }
  // The value at `pos`, followed by the rest of its block.
  uint8_t* values(std::span<const BlockId> blocks, uint32_t layer, uint32_t head, uint32_t pos) const {
    const Layer& own = layers_[layer];
    return page(blocks, layer, head, pos) + block_tokens_ / kPanelRows * own.key_panel_bytes +
           pos % block_tokens_ * own.value_bytes;
  }

 private:
  struct Layer {
    uint32_t n_kv_heads = 0, k_dim = 0, v_dim = 0;
    size_t key_panel_bytes = 0, value_bytes = 0, page_bytes = 0;
  };
  Result<Layer> layer_of(const Paged& paged) const;
  std::byte* at(size_t offset) const { return pages_.as<std::byte>() + offset; }
  uint8_t* page(std::span<const BlockId> blocks, uint32_t layer, uint32_t head, uint32_t pos) const {
    return pages_.as<uint8_t>() + planes_.at(layer, blocks[pos / block_tokens_]) + head * layers_[layer].page_bytes;
  }

  uint32_t block_tokens_ = 0;
  KvType type_ = KvType::kF16;
  TypeId key_type_ = TypeId::kF32;
  std::vector<Layer> layers_;
  CachePlanes planes_;
  Pages pages_;
};

}  // namespace realizar::cpu
