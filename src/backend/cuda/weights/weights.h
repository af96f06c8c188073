// Weights in device memory, weights that are streamed there layer by layer, and weights read from host memory.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "backend/cuda/device/arena.h"
#include "backend/cuda/device/device.h"
#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/weights/layer_stream.h"
#include "backend/cuda/weights/matrix_part.h"
#include "base/thread_team.h"

namespace realizar::cuda {

class Weights {
 public:
  // `packers` must outlive it.
  Weights(Device& device, ThreadTeam& packers) : device_(device), team_(packers), arena_(device), stream_(device) {}

  // Room for layers on the device.
  struct Room {
    size_t n_bytes = 0;                    // for all weights
    bool fits_whole = false;               // all weights to come are known to fit
    std::optional<uint32_t> n_gpu_layers;  // the layers below stay there, and no others; absent: as many as fit
    LayerStream::Room streamed = {};       // room for the others on the host
  };
  // Called before weights of layers.
  void set_room(const Room& room) {
    room_ = room;
    arena_.set_limit(room.n_bytes);
    stream_.set_room(room.streamed);
  }

  // Location of a matrix outside layers: on the device, or in pinned host memory, where kernels read it in place.
  enum class Home { kDevice, kHost };
  // Errors: InvalidArgument (wrong size of pieces), Unsupported (more than kMaxMatrixRows rows), FormatError (a weight
  // is NaN or infinite), ResourceExhausted, Internal.
  Result<WeightId> add_matrix(const MatrixSource& source, const MatrixPart& part, Home home = Home::kDevice);
  Result<WeightId> add_vector(std::span<const float> values);
  // Backend::write_weights.
  Status write(WeightId id, size_t first_row, std::span<const float> values);
  // The id of a weight that exists only on other devices.
  WeightId add_absent();
  // Called after the last weight. Errors: ResourceExhausted.
  Status finish();

  const Matrix& matrix(WeightId id) const { return matrices_[static_cast<uint32_t>(id)].matrix; }
  // Null for kNoWeight.
  const float* vector(WeightId id) const {
    return id == kNoWeight ? nullptr : reinterpret_cast<const float*>(matrix(id).low);
  }
  // The bias of the product's outputs on this device.
  const float* bias(WeightId id, WeightId product) const {
    return id == kNoWeight ? nullptr : vector(id) + matrices_[static_cast<uint32_t>(product)].first_row;
  }
  // The streamed layer of the matrix.
  std::optional<uint32_t> streamed_layer(WeightId id) const;
  uint32_t n_streamed_layers() const { return stream_.n_layers(); }
  uint64_t file_bytes() const { return stream_.file_bytes(); }  // streamed layers on disk
  LayerStream& stream() { return stream_; }
  size_t bytes() const { return device_bytes() + n_streamed_bytes_ + n_host_bytes_; }
  size_t device_bytes() const { return arena_.n_allocated(); }
  size_t host_bytes() const { return n_host_bytes_; }  // in Home::kHost
  // Size of its planes on the device.
  uint64_t matrix_bytes(WeightId id) const { return matrices_[static_cast<uint32_t>(id)].n_bytes; }

 private:
  static constexpr int kPlanes = 4;  // low, high, headers, scales
  struct Stored {
    Matrix matrix;
    uint64_t n_bytes;    // of one matrix in the stack
    uint32_t first_row;  // in the whole matrix
    std::optional<LayerStream::Place> place;
    size_t offsets[kPlanes];  // in the place
  };
  struct Planes {
    TypeId type;
    size_t row_bytes[kPlanes];
    std::byte* at[kPlanes];  // null if the type has none
  };

  bool is_resident(const MatrixSource& source, std::span<const size_t> plane_bytes);
  Result<void*> allocate(size_t n_bytes);
  Status place_resident(Planes& planes, size_t n_rows);
  Status place_on_host(Planes& planes, size_t n_rows);
  Result<Stored> place_streamed(const MatrixSource& source, Planes& planes, size_t n_rows);
  Status repack(const MatrixSource& source, const MatrixPart& part, const Planes& planes, size_t first_row,
                size_t n_rows, std::byte* const* to);
  template <class Put>
  Status pack_rows(const MatrixSource& source, const MatrixPart& part, const Planes& planes, const Put& put);
  Status upload_rows(const MatrixSource& source, const MatrixPart& part, const Planes& planes);
  Status write_rows(const MatrixSource& source, const MatrixPart& part, const Planes& planes, const Stored& stored);
  void point(Stored& stored) const;

  Device& device_;
  ThreadTeam& team_;
  Arena arena_;
  Room room_;
  LayerStream stream_;
  std::vector<Stored> matrices_;
  std::byte* staging_[2] = {};
  size_t n_streamed_bytes_ = 0, n_host_bytes_ = 0;
  size_t layer_bytes_ = 0, max_layer_bytes_ = 0;  // of the layer being loaded, and of the largest so far
  int32_t layer_ = -1, last_streamed_layer_ = -1;
  bool is_full_ = false;
};

}  // namespace realizar::cuda
