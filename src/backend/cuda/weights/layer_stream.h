// Layers that do not fit in device memory. They are in pinned host memory, or on disk if that is short, and alternate
// between two device buffers: while one computes, the next is copied. Every step uses them in ascending order.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backend/cuda/device/device.h"
#include "backend/cuda/weights/layer_file.h"

namespace realizar::cuda {

class LayerStream {
 public:
  explicit LayerStream(Device& device) : device_(device) {}

  // Host memory and disk for streamed layers.
  struct Room {
    uint64_t pinned_bytes = UINT64_MAX;  // in addition to two layers in transit from the disk
    std::string folder;                  // for the rest; empty: none
  };
  void set_room(const Room& room) { room_ = room; }

  // Location of a part of a streamed layer.
  struct Place {
    std::byte* host;   // null: on disk
    uint64_t file_at;  // position in the file
    uint32_t layer;    // index among streamed layers
    size_t offset;     // in the layer's buffer
  };
  // Reserves n_bytes more for the last layer, or for a new one. Errors: ResourceExhausted.
  Result<Place> add(bool begins_layer, size_t n_bytes);
  // Writes bytes of a part on disk. Errors: ResourceExhausted.
  Status write(const Place& place, size_t offset, std::span<const std::byte> bytes) {
    return file_->write(place.file_at + offset, bytes);
  }
  // Allocates the buffers for the largest layer. Errors: ResourceExhausted.
  Status create_buffers();
  std::byte* device_at(const Place& place) const { return buffers_[buffer_of(place.layer)] + place.offset; }

  uint32_t n_layers() const { return static_cast<uint32_t>(layers_.size()); }
  uint64_t file_bytes() const { return file_ ? file_->n_bytes() : 0; }
  uint64_t copied_bytes() const { return copied_bytes_; }  // copied to the device so far
  // Enclose a layer's operations; in between, its parts are at device_at. Errors: Internal (a layer cannot be read from
  // disk, or the device failed).
  Status enter(uint32_t layer);
  Status leave(uint32_t layer);

 private:
  static constexpr uint32_t kBuffers = 2;
  static constexpr uint32_t kNothing = 0xffffffffu;
  struct Part {
    Place place;
    size_t n_bytes;
  };
  struct Layer {
    std::vector<Part> parts;
    size_t n_bytes = 0;
    bool is_on_disk = false;  // at least partly
  };

  static uint32_t buffer_of(uint32_t layer) { return layer % kBuffers; }
  std::byte* pin(size_t n_bytes);
  Status make_file();
  Status fetch(uint32_t layer);

  Device& device_;
  Room room_;
  uint64_t pinned_bytes_ = 0;
  std::optional<LayerFile> file_;
  std::vector<Layer> layers_;
  std::byte* buffers_[kBuffers] = {};
  std::byte* landings_[kBuffers] = {};               // pinned: data read from disk, per buffer
  uint32_t holds_[kBuffers] = {kNothing, kNothing};  // or will hold, after pending copies
  uint64_t copied_bytes_ = 0;
};

}  // namespace realizar::cuda
