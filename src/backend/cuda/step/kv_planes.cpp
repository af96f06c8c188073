#include "backend/cuda/step/kv_planes.h"

#include <algorithm>

#include "backend/kv_types.h"

namespace realizar::cuda {

Status KvPlanes::create(Device& device, const KvLayout& layout, uint32_t first_layer, const LayerGroups& groups) {
  RZ_CHECK_OK(kv_cache_bytes(layout));
  layout_ = layout;
  first_layer_ = first_layer;
  std::vector<uint32_t> n_layers_of(groups.windows.size());  // of each group, so far
  for (uint32_t i = 0; i < layout.n_layers; ++i) {
    const uint32_t group = groups.places[first_layer + i].group, slot = n_layers_of[group]++;
    layers_.push_back({{group, slot}, slot == n_slots_});
    n_slots_ = std::max(n_slots_, slot + 1);
  }
  page_bytes_ = kv_view(layout, nullptr, nullptr).page_bytes;
  if (layout.n_layers == 0) return {};
  for (uint8_t*& plane : planes_) {
    RZ_TRY(void* memory, device.allocate(plane_bytes()));
    plane = static_cast<uint8_t*>(memory);
  }
  return {};
}

uint8_t* KvPlanes::block_at(bool is_value, uint32_t layer, BlockId id) const {
  return planes_[is_value ? 1 : 0] +
         (size_t{layers_[layer - first_layer_].place.slot} * layout_.n_blocks + to_index(id)) * layer_block_bytes();
}

}  // namespace realizar::cuda
