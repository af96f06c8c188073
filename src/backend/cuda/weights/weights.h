// Weights in the device's memory, those that are brought there layer by layer, and those that it reads from the host's.
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

  // What layers find on the device.
  struct Room {
    size_t n_bytes = 0;                    // of weights, in all
    bool fits_whole = false;               // all that will be added is known to fit
    std::optional<uint32_t> n_gpu_layers;  // the layers below stay there, and no others; absent: as many as fit
    LayerStream::Room streamed = {};       // what the others find on the host
  };
  // Before what belongs to a layer.
  void set_room(const Room& room) {
    room_ = room;
    arena_.set_limit(room.n_bytes);
    stream_.set_room(room.streamed);
  }

  // Where a matrix of no layer lies: on the device, or in pinned memory of the host, where kernels read it in place.
  enum class Home { kDevice, kHost };
  // Errors: InvalidArgument (the pieces do not hold the rows), Unsupported (more than kMaxMatrixRows rows),
  // FormatError (a weight is NaN or infinite), ResourceExhausted, Internal.
  Result<WeightId> add_matrix(const MatrixSource& source, const MatrixPart& part, Home home = Home::kDevice);
  Result<WeightId> add_vector(std::span<const float> values);
  // As Backend::write_weights.
  Status write(WeightId id, size_t first_row, std::span<const float> values);
  // The id of what is on other devices alone.
  WeightId add_absent();
  // After the last of them. Errors: ResourceExhausted.
  Status finish();

  const Matrix& matrix(WeightId id) const { return matrices_[static_cast<uint32_t>(id)].matrix; }
  // Null for kNoWeight.
  const float* vector(WeightId id) const {
    return id == kNoWeight ? nullptr : reinterpret_cast<const float*>(matrix(id).low);
  }
  // The bias of those of the product's outputs that are here.
  const float* bias(WeightId id, WeightId product) const {
    return id == kNoWeight ? nullptr : vector(id) + matrices_[static_cast<uint32_t>(product)].first_row;
  }
  // The streamed layer that the matrix is part of.
  std::optional<uint32_t> streamed_layer(WeightId id) const;
  uint32_t n_streamed_layers() const { return stream_.n_layers(); }
  uint64_t file_bytes() const { return stream_.file_bytes(); }  // of them, on the disk
  LayerStream& stream() { return stream_; }
  size_t bytes() const { return device_bytes() + n_streamed_bytes_ + n_host_bytes_; }
  size_t device_bytes() const { return arena_.n_allocated(); }
  size_t host_bytes() const { return n_host_bytes_; }  // of Home::kHost
  // The size of its planes as they lie on the device.
  uint64_t matrix_bytes(WeightId id) const { return matrices_[static_cast<uint32_t>(id)].n_bytes; }

 private:
  static constexpr int kPlanes = 4;  // low, high, headers, scales
  struct Stored {
    Matrix matrix;
    uint64_t n_bytes;    // of one of its stacked matrices
    uint32_t first_row;  // of the whole matrix's
    std::optional<LayerStream::Place> place;
    size_t offsets[kPlanes];  // in the place
  };
  struct Planes {
    TypeId type;
    size_t row_bytes[kPlanes];
    std::byte* at[kPlanes];  // null where the type has none
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
  size_t layer_bytes_ = 0, max_layer_bytes_ = 0;  // of the layer that is being loaded, and of the largest so far
  int32_t layer_ = -1, last_streamed_layer_ = -1;
  bool is_full_ = false;
};

}  // namespace realizar::cuda
