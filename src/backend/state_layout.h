// State that a model's layers keep per sequence, and its layout in the cache.
//
// A block holds keys and values of block_tokens positions for the layers of one group. Layers of a group have the same
// window, so they keep the same positions; groups are of about equal size. A sequence has a block table per group, so
// that layers with a window free the blocks that have left it; all blocks are equally large, so a free one serves any
// group. A model with one window, or with none, has one group.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "realizar/result.h"
#include "realizar/types.h"

namespace realizar {

// Vectors of every position, in blocks: for each KV head a key of k_dim elements and a value of v_dim. v_dim is 0 if
// only keys are kept and values are computed from them.
struct Paged {
  uint32_t n_kv_heads = 0, k_dim = 0, v_dim = 0;
  uint32_t window = 0;  // positions that a row attends to at most, its own included; 0: all
  bool operator==(const Paged&) const = default;
};

// A state of constant size: the last inputs of a convolution, the sums of a scan.
struct Recurrent {
  std::vector<size_t> part_bytes;
  bool operator==(const Recurrent&) const = default;
};

using StateLayout = std::variant<Paged, Recurrent>;

enum class KvType : uint8_t { kF32, kF16, kBF16, kQ8_0, kF8, kQ4_0 };

// A cache of uniform layers.
struct KvLayout {
  uint32_t n_layers = 0;
  uint32_t n_kv_heads = 0;
  uint32_t head_dim = 0;
  uint32_t block_tokens = 32;  // positions per block
  uint32_t n_blocks = 0;
  KvType type = KvType::kF16;
  uint32_t n_groups = 1;  // of layers, each with its own block table
};

struct LayerGroups {
  struct Place {
    uint32_t group = 0;
    uint32_t slot = 0;  // index of the layer in its group, and of its part of a block
    bool operator==(const Place&) const = default;
  };
  std::vector<Place> places;      // [n_layers]
  std::vector<uint32_t> windows;  // [n_groups], at least one
  uint32_t n_slots = 0;           // in the largest group
};

// Recurrent layers keep no blocks: their places are meaningless.
LayerGroups group_layers(std::span<const StateLayout> layers);

struct CacheLayout {
  CacheLayout() = default;
  CacheLayout(const KvLayout& alike);  // NOLINT(google-explicit-constructor): it is one, said in fewer words

  std::vector<StateLayout> layers;
  // The groups of the whole model's layers, if these layers are a share of it.
  std::optional<LayerGroups> whole_groups = {};
  uint32_t block_tokens = 32;  // positions per block
  uint32_t n_blocks = 0;
  KvType type = KvType::kF16;  // of keys and values
  uint32_t n_states = 0;       // slots for the states of recurrent layers

  LayerGroups groups() const { return whole_groups ? *whole_groups : group_layers(layers); }
};

// Bytes of all layers' states for one sequence.
size_t state_bytes(std::span<const StateLayout> layers);

// The common properties of all layers; heads and widths are 0.
KvLayout common_layout(const CacheLayout& layout);
// The layout of a paged layer. Errors: Unsupported, for another kind of layer.
Result<Paged> paged(const CacheLayout& layout, uint32_t layer);

// Placement of the layers' parts of blocks in cache memory: one plane per slot, with [n_blocks] parts of the size of
// the largest layer in that slot.
class CachePlanes {
 public:
  CachePlanes() = default;
  // layer_bytes: bytes of a layer's part of a block, [n_layers]; 0 for recurrent layers. Errors: ResourceExhausted.
  static Result<CachePlanes> create(uint32_t n_blocks, LayerGroups groups, std::span<const size_t> layer_bytes);

  size_t bytes() const { return n_blocks_ * block_bytes_; }
  size_t block_bytes() const { return block_bytes_; }
  uint32_t group_of(uint32_t layer) const { return groups_.places[layer].group; }
  size_t at(uint32_t layer, BlockId id) const { return planes_of_layers_[layer].at(id); }
  // Calls visit(offset in the cache, offset in a block's bytes, bytes) for every part of a block.
  template <class Visit>
  void for_each_part(BlockId id, const Visit& visit) const {
    size_t in_block = 0;
    for (const Plane& plane : planes_) {
      visit(plane.at(id), in_block, plane.part_bytes);
      in_block += plane.part_bytes;
    }
  }
  // Calls visit(offset of its part in `a`, in `b`, bytes) for every plane.
  template <class Visit>
  void for_each_two_parts(BlockId a, BlockId b, const Visit& visit) const {
    for (const Plane& plane : planes_) visit(plane.at(a), plane.at(b), plane.part_bytes);
  }

 private:
  struct Plane {
    size_t offset = 0, part_bytes = 0;
    size_t at(BlockId id) const { return offset + static_cast<size_t>(to_index(id)) * part_bytes; }
  };

  LayerGroups groups_;
  std::vector<Plane> planes_;            // [n_slots]
  std::vector<Plane> planes_of_layers_;  // [n_layers]
  size_t n_blocks_ = 0, block_bytes_ = 0;
};

}  // namespace realizar
