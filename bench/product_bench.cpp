#include "product_bench.h"
#include "base/try.h"

#include <algorithm>
#include <random>

#include "backend/cuda/compile/matrix_traits.h"
#include "backend/cuda/weights/repack.h"
#include "base/check.h"
#include "quant/type_table.h"

namespace realizar::bench {
namespace {

using cuda::aligned_bytes;

constexpr uint32_t kFirstTileBatch = 32;  // prompts with fewer rows do not use a separate kernel here
constexpr uint64_t kFillBytes = uint64_t{1} << 20;

uint64_t whole_groups(uint32_t n_cols) {
  return (uint64_t{n_cols} + cuda::kGroupCols - 1) / cuda::kGroupCols * cuda::kGroupCols;
}

// The offsets of a matrix's planes, and the end of the last one.
struct PlanePlaces {
  uint64_t low, high, headers, scales, end;
};
PlanePlaces planes_of(TypeId type, const ProductShape& shape) {
  const cuda::PlaneBytes row = cuda::plane_bytes(type, shape.n_cols);
  const auto size = [&](size_t row_bytes) { return aligned_bytes(row_bytes * shape.n_rows); };
  PlanePlaces places{};
  places.high = size(row.low);
  places.headers = places.high + size(row.high);
  places.scales = places.headers + size(row.headers);
  places.end = places.scales + size(row.scales);
  return places;
}

// The activations' parts that products read: values (of any kind), followed by those for groups or rows.
struct InputPlaces {
  uint64_t n_values, first_scale, second_scale, end;
};
InputPlaces input_places(const ProductShape& shape, uint32_t batch) {
  const uint64_t n_values = batch * whole_groups(shape.n_cols);
  InputPlaces places{n_values, aligned_bytes(n_values * sizeof(float) + cuda::kMoreCodeBytes), 0, 0};
  const uint64_t n_scale_bytes = aligned_bytes(std::max<uint64_t>(n_values / cuda::kGroupCols, batch) * sizeof(float));
  places.second_scale = places.first_scale + n_scale_bytes;
  places.end = places.second_scale + n_scale_bytes;
  return places;
}

uint64_t input_bytes(const Product& product) {
  const uint64_t n_values = product.batch * whole_groups(product.shape.n_cols);
  if (layout_of(product.type) == Layout::kGroups) return n_values + n_values / cuda::kGroupCols * 2 * sizeof(float);
  return n_values * sizeof(float);  // in F32, or as two values of 16 bits
}

// Numbers that are finite in every type: F16 from 1 to 1.25, and the same bits in other types.
std::vector<uint16_t> made_up_bits() {
  std::mt19937 random(1);
  std::vector<uint16_t> bits(kFillBytes / sizeof(uint16_t));
  for (uint16_t& b : bits) b = static_cast<uint16_t>(0x3c00u | (random() & 0xffu));
  return bits;
}

}  // namespace

std::string_view name_of(ProductKernel kernel) {
  constexpr std::string_view kNames[] = {"linear", "linear_few", "linear_few_split", "linear_many", "linear_split"};
  return kNames[static_cast<size_t>(kernel)];
}

std::vector<Product> products_of(std::span<const ProductShape> shapes, std::span<const TypeId> types,
                                 std::span<const uint32_t> batches) {
  std::vector<Product> products;
  for (const ProductShape& shape : shapes) {
    for (const TypeId type : types) {
      const Layout layout = layout_of(type);
      for (const uint32_t batch : batches) {
        const bool splits = cuda::wants_split(type), is_few = layout == Layout::kGroups && batch > 1;
        const ProductKernel few = splits   ? ProductKernel::kLinearFewSplit
                                  : is_few ? ProductKernel::kLinearFew
                                           : ProductKernel::kLinear;
        products.push_back({shape, type, few, batch});
        if (batch < kFirstTileBatch || type == TypeId::kF32 || layout == Layout::kStored) continue;
        const bool is_many = layout == Layout::kGroups;
        products.push_back({shape, type, is_many ? ProductKernel::kLinearMany : ProductKernel::kLinearSplit, batch});
      }
    }
  }
  return products;
}

Status ProductBench::fill(Bytes& bytes, uint64_t n_bytes) {
  if (n_bytes <= bytes.n_bytes) return {};
  if (bytes.at != nullptr) device_.free(bytes.at);
  bytes = {};
  RZ_TRY(void* memory, device_.allocate(n_bytes));
  bytes = {static_cast<std::byte*>(memory), n_bytes};
  const std::vector<uint16_t> bits = made_up_bits();
  for (uint64_t at = 0; at < n_bytes; at += kFillBytes) {
    device_.upload(bytes.at + at, bits.data(), std::min(kFillBytes, n_bytes - at));
  }
  return device_.wait();
}

Status ProductBench::reserve(const Product& product, uint64_t matrix_bytes) {
  RZ_CHECK_OK(fill(pool_, std::max(pool_bytes_, matrix_bytes)));
  RZ_CHECK_OK(fill(in_, input_places(product.shape, product.batch).end));
  RZ_CHECK_OK(fill(out_, uint64_t{product.batch} * product.shape.n_rows * sizeof(float)));
  RZ_CHECK_OK(fill(counts_, 2 * sizeof(uint32_t)));
  const uint32_t counts[] = {0, product.batch};
  device_.upload(counts_.at, counts, sizeof counts);
  return device_.wait();
}

cuda::LinearArgs ProductBench::args_of(const Product& product, uint64_t copy, uint64_t matrix_bytes) const {
  const PlanePlaces planes = planes_of(product.type, product.shape);
  const std::byte* at = pool_.at + copy * matrix_bytes;
  const InputPlaces in = input_places(product.shape, product.batch);
  const auto words = [](std::byte* bytes) { return reinterpret_cast<uint32_t*>(bytes); };
  cuda::LinearArgs args{};
  args.rows = {words(counts_.at), words(counts_.at) + 1};
  args.weight = {reinterpret_cast<const uint32_t*>(at + planes.low),
                 reinterpret_cast<const uint32_t*>(at + planes.high),
                 reinterpret_cast<const uint16_t*>(at + planes.headers),
                 reinterpret_cast<const int8_t*>(at + planes.scales),
                 1,
                 product.shape.n_rows,
                 product.shape.n_cols,
                 product.type};
  auto* first = reinterpret_cast<float*>(in_.at + in.first_scale);
  args.in = reinterpret_cast<const float*>(in_.at);
  args.quants = {words(in_.at), first, reinterpret_cast<int32_t*>(in_.at + in.second_scale)};
  args.splits = {words(in_.at), words(in_.at + in.n_values * sizeof(uint16_t)), first};
  args.out = reinterpret_cast<float*>(out_.at);
  return args;
}

void ProductBench::launch(const Product& product, const cuda::LinearArgs& args) const {
  const cuda::KernelTable& kernels = device_.kernels();
  const auto kernel = product.kernel == ProductKernel::kLinear           ? kernels.linear
                      : product.kernel == ProductKernel::kLinearFew      ? kernels.linear_few
                      : product.kernel == ProductKernel::kLinearFewSplit ? kernels.linear_few_split
                      : product.kernel == ProductKernel::kLinearMany     ? kernels.linear_many
                                                                         : kernels.linear_split;
  kernel(args, product.batch, device_.stream());
}

Result<double> ProductBench::time_graphs(std::span<const cuda::GraphId> graphs) {
  double least_ms = 1e30;
  for (uint32_t i = 0; i <= n_repetitions_; ++i) {
    device_.mark_time(0);
    for (const cuda::GraphId graph : graphs) device_.replay(graph);
    device_.mark_time(1);
    RZ_CHECK_OK(device_.wait());
    if (i > 0) least_ms = std::min(least_ms, device_.ms_between(0, 1));
  }
  return least_ms * 1e3 / static_cast<double>(graphs.size() * kGraphLaunches);
}

Result<ProductTime> ProductBench::time(const Product& product) {
  const uint64_t matrix_bytes = planes_of(product.type, product.shape).end;
  RZ_CHECK_OK(reserve(product, matrix_bytes));
  const uint64_t n_copies = pool_.n_bytes / matrix_bytes;
  std::vector<cuda::GraphId> graphs;
  for (uint64_t first = 0; first < n_copies; first += kGraphLaunches) {
    RZ_CHECK_OK(device_.begin_capture());
    for (uint64_t i = first; i < first + kGraphLaunches; ++i) {
      launch(product, args_of(product, i % n_copies, matrix_bytes));
    }
    RZ_TRY(const cuda::GraphId graph, device_.end_capture());
    graphs.push_back(graph);
  }
  const Result<double> us = time_graphs(graphs);
  for (const cuda::GraphId graph : graphs) device_.drop(graph);
  if (!us.ok()) return us.error();
  const uint64_t n_out = uint64_t{product.batch} * product.shape.n_rows;
  return ProductTime{*us, matrix_bytes + input_bytes(product) + n_out * sizeof(float), 2 * n_out * product.shape.n_cols,
                     n_copies};
}

}  // namespace realizar::bench
