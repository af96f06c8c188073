#include "backend/cuda/weights/layer_stream.h"

#include <algorithm>

#include "base/try.h"

namespace realizar::cuda {

// Null if there is no room.
std::byte* LayerStream::pin(size_t n_bytes) {
  if (n_bytes > room_.pinned_bytes - std::min(pinned_bytes_, room_.pinned_bytes)) return nullptr;
  const Result<void*> memory = device_.allocate_pinned(n_bytes);
  if (!memory.ok()) return nullptr;
  pinned_bytes_ += n_bytes;
  return static_cast<std::byte*>(*memory);
}

Status LayerStream::make_file() {
  if (file_) return {};
  if (room_.folder.empty()) {
    return Error{ErrorCode::kResourceExhausted,
                 "layers that find no place on the GPU find none in the host's memory either, and there is no folder "
                 "for them",
                 "host_memory"};
  }
  RZ_TRY(file_, LayerFile::create(room_.folder));
  return {};
}

Result<LayerStream::Place> LayerStream::add(bool begins_layer, size_t n_bytes) {
  if (begins_layer) layers_.emplace_back();
  Layer& layer = layers_.back();
  Place place{pin(n_bytes), 0, n_layers() - 1, layer.n_bytes};
  if (place.host == nullptr) {
    RZ_CHECK_OK(make_file());
    RZ_TRY(place.file_at, file_->add(n_bytes));
    layer.is_on_disk = true;
  }
  layer.parts.push_back({place, n_bytes});
  layer.n_bytes += aligned_bytes(n_bytes);
  return place;
}

Status LayerStream::create_buffers() {
  if (layers_.empty() || buffers_[0] != nullptr) return {};
  size_t n_bytes = 0, n_landing = 0;
  for (const Layer& layer : layers_) {
    n_bytes = std::max(n_bytes, layer.n_bytes);
    if (layer.is_on_disk) n_landing = std::max(n_landing, layer.n_bytes);
  }
  for (uint32_t i = 0; i < kBuffers; ++i) {
    RZ_TRY(void* memory, device_.allocate(n_bytes));
    buffers_[i] = static_cast<std::byte*>(memory);
    if (n_landing == 0) continue;
    RZ_TRY(void* landing, device_.allocate_pinned(n_landing));
    landings_[i] = static_cast<std::byte*>(landing);
  }
  return {};
}

// Reads from disk overwrite the source of the buffer's previous layer.
Status LayerStream::fetch(uint32_t layer) {
  const uint32_t buffer = buffer_of(layer);
  if (holds_[buffer] == layer) return {};
  holds_[buffer] = kNothing;
  if (layers_[layer].is_on_disk) RZ_CHECK_OK(device_.wait_aside(buffer));
  for (const auto& [place, n_bytes] : layers_[layer].parts) {
    std::byte* from = place.host;
    if (from == nullptr) {
      from = landings_[buffer] + place.offset;
      RZ_CHECK_OK(file_->read(place.file_at, {from, n_bytes}));
    }
    device_.upload_aside(buffer, buffers_[buffer] + place.offset, from, n_bytes);
    copied_bytes_ += n_bytes;
  }
  holds_[buffer] = layer;
  return {};
}

Status LayerStream::enter(uint32_t layer) {
  RZ_CHECK_OK(fetch(layer));
  device_.acquire(buffer_of(layer));
  return {};
}

// Starts to fetch the buffer's next layer, in this step or the next one.
Status LayerStream::leave(uint32_t layer) {
  device_.release(buffer_of(layer));
  return fetch(layer + kBuffers < n_layers() ? layer + kBuffers : buffer_of(layer));
}

}  // namespace realizar::cuda
