// Times the CUDA backend's matrix products, one kernel at a time, in the shapes of real models: as launched for decode
// and prompt rows, recorded, with weights that do not fit into any cache.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "backend/cuda/device/device.h"
#include "backend/cuda/kernels/kernels.h"
#include "quant/types.h"

namespace realizar::bench {

// The product of a launch: some rows of activations with a matrix.
struct ProductShape {
  std::string name;  // "8b down"
  uint32_t n_rows, n_cols;
};
enum class ProductKernel { kLinear, kLinearFew, kLinearFewSplit, kLinearMany, kLinearSplit };
std::string_view name_of(ProductKernel kernel);

struct Product {
  ProductShape shape;
  TypeId type;
  ProductKernel kernel;
  uint32_t batch;
};
struct ProductTime {
  double us;         // of a launch, the shortest of some repetitions
  uint64_t n_bytes;  // of the weights, the activations and the output, once each
  uint64_t n_flops;
  uint64_t n_different;  // copies of the weights that launches use in turn
};

// The kernels that the backend uses for this number of rows of a matrix of this type: as decode rows, and from 32 rows
// on as a prompt's.
std::vector<Product> products_of(std::span<const ProductShape> shapes, std::span<const TypeId> types,
                                 std::span<const uint32_t> batches);

class ProductBench {
 public:
  // pool_bytes: weights that are read before any is read again; more than the size of the device's caches.
  ProductBench(cuda::Device& device, uint64_t pool_bytes, uint32_t n_repetitions = 5)
      : device_(device), pool_bytes_(pool_bytes), n_repetitions_(n_repetitions) {}

  // Errors: ResourceExhausted, Internal, Unsupported (a type that the backend does not have).
  Result<ProductTime> time(const Product& product);

 private:
  static constexpr uint32_t kGraphLaunches = 20;

  // Device memory of random bytes, enlarged as needed.
  struct Bytes {
    std::byte* at = nullptr;
    uint64_t n_bytes = 0;
  };
  Status fill(Bytes& bytes, uint64_t n_bytes);
  Status reserve(const Product& product, uint64_t matrix_bytes);
  cuda::LinearArgs args_of(const Product& product, uint64_t copy, uint64_t matrix_bytes) const;
  void launch(const Product& product, const cuda::LinearArgs& args) const;
  Result<double> time_graphs(std::span<const cuda::GraphId> graphs);

  cuda::Device& device_;
  uint64_t pool_bytes_;
  uint32_t n_repetitions_;
  Bytes pool_, in_, out_, counts_;
};

}  // namespace realizar::bench
