#include "backend/cuda/step/kv_planes.h"

#include <algorithm>
#include <string>

#include "backend/kv_types.h"
#include "base/check.h"
#include "base/try.h"

namespace realizar::cuda {

Status KvPlanes::create(Device& device, const KvLayout& common, const LayersHere& layers, const LayerGroups& groups,
                        uint32_t n_sharing) {
  common_ = common;
  first_layer_ = layers.first;
  std::vector<uint32_t> n_layers_of(groups.windows.size());  // per group, so far
  for (size_t i = 0; i < layers.layouts.size(); ++i) {
    const auto* own = std::get_if<Paged>(&layers.layouts[i]);
    if (own == nullptr || own->n_kv_heads == 0) {
      layers_.push_back({});
      continue;
    }
    const uint32_t group = groups.places[first_layer_ + i].group;
    RZ_CHECK_OK(add(*own, {group, n_layers_of[group]++}, n_sharing));
  }
  return allocate(device);
}

Status KvPlanes::add(const Paged& paged, const LayerGroups::Place& place, uint32_t n_sharing) {
  if (paged.v_dim != 0 && paged.v_dim != paged.k_dim) {
    return unsupported("the cuda backend keeps values as wide as keys, and layer " +
                           std::to_string(first_layer_ + layers_.size()) + " keeps keys of " +
                           std::to_string(paged.k_dim) + " numbers and values of " + std::to_string(paged.v_dim),
                       "layers");
  }
  REQUIRE(paged.n_kv_heads % n_sharing == 0);  // else a matrix was refused
  KvLayout layout = common_;
  layout.n_kv_heads = paged.n_kv_heads / n_sharing;
  layout.head_dim = paged.k_dim;
  RZ_CHECK_OK(kv_vector_bytes(layout.type, layout.head_dim));
  const bool is_first = place.slot == planes_.size();
  if (is_first) planes_.emplace_back();
  layers_.push_back({place, is_first, paged.v_dim > 0, layout});
  Plane& plane = planes_[place.slot];
  plane.part_bytes = std::max<size_t>(plane.part_bytes, kv_view(layout).block_bytes);
  plane.has_values |= paged.v_dim > 0;
  return {};
}

Status KvPlanes::allocate(Device& device) {
  for (const bool is_value : {false, true}) {
    size_t end = 0;
    for (Plane& plane : planes_) {
      plane.offset[is_value ? 1 : 0] = end;
      size_t n_bytes = 0;
      if (__builtin_mul_overflow(plane.bytes(is_value), size_t{common_.n_blocks}, &n_bytes) ||
          n_bytes / kPageUnit > UINT32_MAX || __builtin_add_overflow(end, n_bytes, &end)) {
        return Error{ErrorCode::kResourceExhausted, "the KV cache would be larger than the address space", "ctx"};
      }
    }
    if (end == 0) continue;
    RZ_TRY(void* memory, device.allocate(end));
    memory_[is_value ? 1 : 0] = static_cast<uint8_t*>(memory);
    n_bytes_ += end;
  }
  return {};
}

uint8_t* KvPlanes::block_at(bool is_value, uint32_t layer, BlockId id) const {
  const Plane& own = plane(layer);
  const size_t i = is_value ? 1 : 0;
  return memory_[i] + own.offset[i] + size_t{to_index(id)} * own.part_bytes;
}

KvView KvPlanes::view(uint32_t layer) const {
  KvView view = kv_view(layout(layer));
  view.keys = block_at(false, layer, BlockId{0});
  view.values = block_at(has_values(layer), layer, BlockId{0});
  view.block_bytes = static_cast<uint32_t>(plane(layer).part_bytes);
  return view;
}

}  // namespace realizar::cuda
