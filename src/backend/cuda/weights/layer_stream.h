// Layers that find no place in the device's memory. They lie in pinned memory of the host, or where that is short on
// the disk, and take turns in two buffers of the device: while one layer computes, the next is copied. A step uses them
// in rising order, again and again.
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

  // What streamed layers find on the host.
  struct Room {
    uint64_t pinned_bytes = UINT64_MAX;  // besides two layers that are on their way from the disk
    std::string folder;                  // for what is more than that; empty: there is no such place
  };
  void set_room(const Room& room) { room_ = room; }

  // Where a part of a streamed layer lies.
  struct Place {
    std::byte* host;   // null: on the disk
    uint64_t file_at;  // there
    uint32_t layer;    // in the order of streamed layers
    size_t offset;     // in the layer's buffer
  };
  // A place for n_bytes more of the last layer, or of a new one. Errors: ResourceExhausted.
  Result<Place> add(bool begins_layer, size_t n_bytes);
  // Bytes of a place on the disk. Errors: ResourceExhausted.
  Status write(const Place& place, size_t offset, std::span<const std::byte> bytes) {
    return file_->write(place.file_at + offset, bytes);
  }
  // Makes the buffers, for the largest layer. Errors: ResourceExhausted.
  Status create_buffers();
  std::byte* device_at(const Place& place) const { return buffers_[buffer_of(place.layer)] + place.offset; }

  uint32_t n_layers() const { return static_cast<uint32_t>(layers_.size()); }
  uint64_t file_bytes() const { return file_ ? file_->n_bytes() : 0; }
  uint64_t brought_bytes() const { return brought_bytes_; }  // to the device, so far
  // Around the operations of a layer; between them its parts are where device_at says. Errors: Internal (a layer cannot
  // be read from the disk, or the device failed).
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
    bool is_on_disk = false;  // a part of it
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
  std::byte* landings_[kBuffers] = {};  // pinned: what is read from the disk, for the buffer of that number
  uint32_t holds_[kBuffers] = {kNothing, kNothing};  // or will, when what is under way has landed
  uint64_t brought_bytes_ = 0;
};

}  // namespace realizar::cuda
