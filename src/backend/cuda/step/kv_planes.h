// The cache in a device's memory: a plane of its layers' keys, and one of their values.
#pragma once

#include <vector>

#include "backend/cuda/device/device.h"
#include "backend/cuda/kernels/attention_shape.h"

namespace realizar::cuda {

class KvPlanes {
 public:
  // Holds the layers from first_layer on, as many as the layout has; `groups` are those of all of the model's layers.
  // Errors: Unsupported (head_dim and type), ResourceExhausted.
  Status create(Device& device, const KvLayout& layout, uint32_t first_layer, const LayerGroups& groups);

  const KvLayout& layout() const { return layout_; }  // of the layers that are here
  size_t layer_block_bytes() const { return size_t{layout_.n_kv_heads} * page_bytes_; }
  size_t n_bytes() const { return 2 * plane_bytes(); }
  uint32_t group_of(uint32_t layer) const { return layers_[layer - first_layer_].place.group; }
  // Layers of different groups have the same part of blocks: whether this one is the first of them here.
  bool has_first_part(uint32_t layer) const { return layers_[layer - first_layer_].is_first_of_slot; }
  // Where the keys (or values) of a block lie; `layer` is the model's.
  uint8_t* block_at(bool is_value, uint32_t layer, BlockId id) const;
  KvView view(uint32_t layer) const {
    return kv_view(layout_, block_at(false, layer, BlockId{0}), block_at(true, layer, BlockId{0}));
  }

 private:
  size_t plane_bytes() const { return size_t{n_slots_} * layout_.n_blocks * layer_block_bytes(); }

  struct Layer {
    LayerGroups::Place place;  // its slot is counted among the layers that are here
    bool is_first_of_slot;
  };
  KvLayout layout_;
  uint32_t first_layer_ = 0, n_slots_ = 0;
  std::vector<Layer> layers_;
  size_t page_bytes_ = 0;
  uint8_t* planes_[2] = {};  // keys, values
};

}  // namespace realizar::cuda
