#include "backend/cuda/step/kv_planes.h"

#include <algorithm>

#include "backend/kv_types.h"
#include "base/try.h"

namespace realizar::cuda {

Status KvPlanes::create(Device& device, const KvLayout& layout, const LayersHere& layers, const LayerGroups& groups) {
  RZ_CHECK_OK(kv_cache_bytes(layout));
  layout_ = layout;
  first_layer_ = layers.first;
  std::vector<uint32_t> n_layers_of(groups.windows.size());  // of each group, so far
  for (size_t i = 0; i < layers.layouts.size(); ++i) {
    const auto* own = std::get_if<Paged>(&layers.layouts[i]);
    if (own == nullptr) {
      layers_.push_back({{}, false});
      continue;
    }
    has_values_ = own->v_dim > 0;
    const uint32_t group = groups.places[first_layer_ + i].group, slot = n_layers_of[group]++;
    layers_.push_back({{group, slot}, slot == n_slots_});
    n_slots_ = std::max(n_slots_, slot + 1);
  }
  page_bytes_ = kv_view(layout, nullptr, nullptr).page_bytes;
  if (n_slots_ == 0) return {};
  for (size_t i = 0; i < n_planes(); ++i) {
    RZ_TRY(void* memory, device.allocate(plane_bytes()));
    planes_[i] = static_cast<uint8_t*>(memory);
  }
  return {};
}

uint8_t* KvPlanes::block_at(bool is_value, uint32_t layer, BlockId id) const {
  return planes_[is_value ? 1 : 0] +
         (size_t{layers_[layer - first_layer_].place.slot} * layout_.n_blocks + to_index(id)) * layer_block_bytes();
}

}  // namespace realizar::cuda
