// The cache in a device's memory: a plane of its layers' keys, and one of their values, where they keep some.
#pragma once

#include <span>
#include <vector>

#include "backend/cuda/device/device.h"
#include "backend/cuda/kernels/attention_shape.h"

namespace realizar::cuda {

// Some of a model's layers, those from `first` on.
struct LayersHere {
  std::span<const StateLayout> layouts;
  uint32_t first = 0;
};

class KvPlanes {
 public:
  // Holds those of `layers` that keep keys, each as the layout says; `groups` are those of all of the model's layers.
  // Errors: Unsupported (head_dim and type), ResourceExhausted.
  Status create(Device& device, const KvLayout& layout, const LayersHere& layers, const LayerGroups& groups);

  const KvLayout& layout() const { return layout_; }  // of the layers that are here
  size_t layer_block_bytes() const { return size_t{layout_.n_kv_heads} * page_bytes_; }
  size_t n_bytes() const { return n_planes() * plane_bytes(); }
  bool has_values() const { return has_values_; }
  uint32_t group_of(uint32_t layer) const { return layers_[layer - first_layer_].place.group; }
  // Layers of different groups have the same part of blocks: whether this one is the first of them here.
  bool has_first_part(uint32_t layer) const { return layers_[layer - first_layer_].is_first_of_slot; }
  // Where the keys (or values, if they are kept) of a block lie; `layer` is the model's.
  uint8_t* block_at(bool is_value, uint32_t layer, BlockId id) const;
  KvView view(uint32_t layer) const {
    return kv_view(layout_, block_at(false, layer, BlockId{0}), block_at(has_values_, layer, BlockId{0}));
  }

 private:
  size_t n_planes() const { return has_values_ ? 2 : 1; }
  size_t plane_bytes() const { return size_t{n_slots_} * layout_.n_blocks * layer_block_bytes(); }

  struct Layer {
    LayerGroups::Place place;  // its slot is counted among the layers that are here
    bool is_first_of_slot;
  };
  KvLayout layout_;
  uint32_t first_layer_ = 0, n_slots_ = 0;
  std::vector<Layer> layers_;
  size_t page_bytes_ = 0;
  bool has_values_ = true;
  uint8_t* planes_[2] = {};  // keys, values
};

}  // namespace realizar::cuda
