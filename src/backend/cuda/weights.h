// Weights in the device's memory.
#pragma once

#include <span>
#include <vector>

#include "backend/cuda/device.h"

namespace realizar::cuda {

class Weights {
 public:
  explicit Weights(Device& device) : device_(device) {}

  // Errors: InvalidArgument (the pieces do not hold the rows), Unsupported (type), ResourceExhausted, Internal.
  Result<WeightId> add_matrix(const MatrixSource& source);
  Result<WeightId> add_vector(std::span<const float> values);

  const Matrix& matrix(WeightId id) const { return matrices_[static_cast<uint32_t>(id)]; }
  // Null for kNoWeight.
  const float* vector(WeightId id) const {
    return id == kNoWeight ? nullptr : reinterpret_cast<const float*>(matrix(id).low);
  }
  size_t bytes() const { return n_bytes_; }

 private:
  struct Planes;
  Result<void*> allocate(size_t n_bytes);
  Status upload_rows(const MatrixSource& source, const Planes& planes);

  Device& device_;
  std::vector<Matrix> matrices_;
  size_t n_bytes_ = 0;
};

}  // namespace realizar::cuda
