#include "backend/cuda/layer_stream.h"

#include <algorithm>

namespace realizar::cuda {

Result<LayerStream::Place> LayerStream::add(bool begins_layer, size_t n_bytes) {
  if (begins_layer) layers_.emplace_back();
  RZ_TRY(void* memory, device_.allocate_pinned(n_bytes));
  Layer& layer = layers_.back();
  const Place place{static_cast<std::byte*>(memory), n_layers() - 1, layer.n_bytes};
  layer.parts.push_back({place.host, place.offset, n_bytes});
  layer.n_bytes += aligned_bytes(n_bytes);
  return place;
}

Status LayerStream::create_buffers() {
  if (layers_.empty() || buffers_[0] != nullptr) return {};
  const size_t n_bytes = std::ranges::max_element(layers_, {}, &Layer::n_bytes)->n_bytes;
  for (std::byte*& buffer : buffers_) {
    RZ_TRY(void* memory, device_.allocate(n_bytes));
    buffer = static_cast<std::byte*>(memory);
  }
  return {};
}

void LayerStream::fetch(uint32_t layer) {
  const uint32_t buffer = buffer_of(layer);
  if (holds_[buffer] == layer) return;
  for (const Part& part : layers_[layer].parts) {
    device_.upload_aside(buffer, buffers_[buffer] + part.offset, part.host, part.n_bytes);
    brought_bytes_ += part.n_bytes;
  }
  holds_[buffer] = layer;
}

void LayerStream::enter(uint32_t layer) {
  fetch(layer);
  device_.acquire(buffer_of(layer));
}

// The buffer's next layer: of this step, or else of the next one.
void LayerStream::leave(uint32_t layer) {
  device_.release(buffer_of(layer));
  fetch(layer + kBuffers < n_layers() ? layer + kBuffers : buffer_of(layer));
}

}  // namespace realizar::cuda
