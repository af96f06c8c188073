#include "backend/cuda/step/kv_planes.h"

#include "backend/kv_types.h"

namespace realizar::cuda {

Status KvPlanes::create(Device& device, const KvLayout& layout, uint32_t first_layer) {
  RZ_CHECK_OK(kv_cache_bytes(layout));
  layout_ = layout;
  first_layer_ = first_layer;
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
         (size_t{layer - first_layer_} * layout_.n_blocks + to_index(id)) * layer_block_bytes();
}

}  // namespace realizar::cuda
