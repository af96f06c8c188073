#include "backend/cuda/step/state_planes.h"

#include <variant>

#include "base/try.h"

namespace realizar::cuda {
namespace {

constexpr size_t kPartAlign = 64;

}  // namespace

Status StatePlanes::create(Device& device, const LayersHere& layers, uint32_t n_states) {
  first_layer_ = layers.first;
  offsets_.assign(layers.layouts.size(), {});
  size_t end = 0;
  for (size_t i = 0; i < layers.layouts.size(); ++i) {
    const auto* own = std::get_if<Recurrent>(&layers.layouts[i]);
    if (own == nullptr) continue;
    for (const size_t n_bytes : own->part_bytes) {
      offsets_[i].push_back(end);
      end += (n_bytes + kPartAlign - 1) / kPartAlign * kPartAlign;
    }
  }
  slot_bytes_ = end;
  if (slot_bytes_ == 0 || n_states == 0) return {};
  size_t n_bytes = 0;
  if (__builtin_mul_overflow(slot_bytes_, size_t{n_states}, &n_bytes)) {
    return Error{ErrorCode::kResourceExhausted, "the states of recurrent layers would be larger than the address space",
                 "memory"};
  }
  RZ_TRY(void* memory, device.allocate(n_bytes));
  first_ = static_cast<uint8_t*>(memory);
  n_states_ = n_states;
  return {};
}

}  // namespace realizar::cuda
