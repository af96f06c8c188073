// Layers that find no place in the device's memory. They lie in pinned memory of the host and take turns in two buffers
// of the device: while one layer computes, the next is copied. A step uses them in rising order, again and again.
#pragma once

#include <vector>

#include "backend/cuda/device.h"

namespace realizar::cuda {

class LayerStream {
 public:
  explicit LayerStream(Device& device) : device_(device) {}

  // Where a part of a streamed layer lies.
  struct Place {
    std::byte* host;
    uint32_t layer;  // in the order of streamed layers
    size_t offset;   // in the layer's buffer
  };
  // A place for n_bytes more of the last layer, or of a new one. Errors: ResourceExhausted.
  Result<Place> add(bool begins_layer, size_t n_bytes);
  // Makes the buffers, for the largest layer. Errors: ResourceExhausted.
  Status create_buffers();
  std::byte* device_at(const Place& place) const { return buffers_[buffer_of(place.layer)] + place.offset; }

  uint32_t n_layers() const { return static_cast<uint32_t>(layers_.size()); }
  uint64_t brought_bytes() const { return brought_bytes_; }  // to the device, so far
  // Around the operations of a layer; between them its parts are where device_at says.
  void enter(uint32_t layer);
  void leave(uint32_t layer);

 private:
  static constexpr uint32_t kBuffers = 2;
  static constexpr uint32_t kNothing = 0xffffffffu;
  struct Part {
    const std::byte* host;
    size_t offset, n_bytes;
  };
  struct Layer {
    std::vector<Part> parts;
    size_t n_bytes = 0;
  };

  static uint32_t buffer_of(uint32_t layer) { return layer % kBuffers; }
  void fetch(uint32_t layer);

  Device& device_;
  std::vector<Layer> layers_;
  std::byte* buffers_[kBuffers] = {};
  uint32_t holds_[kBuffers] = {kNothing, kNothing};  // or will, when what is under way has landed
  uint64_t brought_bytes_ = 0;
};

}  // namespace realizar::cuda
