// The cache in device memory: one allocation for its layers' keys, and one for their values, if any. In each, layers of
// different groups with the same slot in a block share a plane, as wide as the widest of them.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "backend/cuda/device/device.h"
#include "backend/cuda/kernels/attention_shape.h"

namespace realizar::cuda {

// Consecutive layers of a model, starting at `first`.
struct LayersHere {
  std::span<const StateLayout> layouts;
  uint32_t first = 0;
};

class KvPlanes {
 public:
  // Allocates for those of `layers` that keep keys here (other processes may have all heads of some), with their own
  // layouts; `common` are the common properties, `groups` are those of all of the model's layers, and a device has one
  // of n_sharing parts of a layer's heads. Errors: Unsupported (head_dim and type, values as wide as keys are
  // required), ResourceExhausted.
  Status create(Device& device, const KvLayout& common, const LayersHere& layers, const LayerGroups& groups,
                uint32_t n_sharing);

  const KvLayout& common() const { return common_; }
  // The part of the layer on this device; `layer` is the model's index, here and below.
  const KvLayout& layout(uint32_t layer) const { return at(layer).layout; }
  size_t n_bytes() const { return n_bytes_; }
  bool has_values(uint32_t layer) const { return at(layer).has_values; }
  uint32_t group_of(uint32_t layer) const { return at(layer).place.group; }
  // Whether the layer is the first one here with its slot in a block; and the bytes of that slot's keys, or values: 0
  // if no layer has them.
  bool has_first_part(uint32_t layer) const { return at(layer).is_first_of_slot; }
  size_t part_bytes(bool is_value, uint32_t layer) const { return plane(layer).bytes(is_value); }
  // Address of the part, which begins with the layer's own keys (or values) of the block.
  uint8_t* block_at(bool is_value, uint32_t layer, BlockId id) const;
  KvView view(uint32_t layer) const;

 private:
  struct Layer {
    LayerGroups::Place place;  // its slot is relative to the layers on this device
    bool is_first_of_slot = false, has_values = false;
    KvLayout layout = {};
  };
  // The parts of values are as wide as those of keys.
  struct Plane {
    size_t part_bytes = 0;
    bool has_values = false;
    std::array<size_t, 2> offset{};  // of keys, of values

    size_t bytes(bool is_value) const { return is_value && !has_values ? 0 : part_bytes; }
  };
  Status add(const Paged& paged, const LayerGroups::Place& place, uint32_t n_sharing);
  Status allocate(Device& device);
  const Layer& at(uint32_t layer) const { return layers_[layer - first_layer_]; }
  const Plane& plane(uint32_t layer) const { return planes_[at(layer).place.slot]; }

  KvLayout common_;
  uint32_t first_layer_ = 0;
  std::vector<Layer> layers_;
  std::vector<Plane> planes_;  // by slot
  size_t n_bytes_ = 0;
  std::array<uint8_t*, 2> memory_{};  // keys, values
};

}  // namespace realizar::cuda
