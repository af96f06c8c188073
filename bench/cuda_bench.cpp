// Speed of each matrix product of the CUDA backend in the shapes of real models, relative to the copy and
// multiplication speeds of the same GPU: bytes of weights, activations and output per second, and operations per second
// with mma.sync.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "backend/cuda/device/peaks.h"
#include "backend/cuda/device/runtime.h"
#include "base/try.h"
#include "product_bench.h"
#include "quant/type_table.h"

using namespace realizar;

namespace {

// More than twice the size of any GPU's caches.
constexpr uint64_t kPoolBytes = uint64_t{384} << 20;

// Launched as in the backend: q, k and v are one product, and so are gate and up.
const std::vector<bench::ProductShape> kShapes = {
    {"1.5b qkv", 2048, 1536},     {"1.5b o", 1536, 1536},    {"1.5b gate+up", 17920, 1536}, {"1.5b down", 1536, 8960},
    {"1.5b head", 151936, 1536},  {"8b qkv", 6144, 4096},    {"8b o", 4096, 4096},          {"8b gate+up", 28672, 4096},
    {"8b down", 4096, 14336},     {"8b head", 128256, 4096}, {"70b qkv", 10240, 8192},      {"70b o", 8192, 8192},
    {"70b gate+up", 57344, 8192}, {"70b down", 8192, 28672},
};

struct Options {
  std::vector<std::string> types = {"Q4_K", "Q6_K", "Q8_0", "BF16", "F8_E4M3"}, models = {"1.5b", "8b", "70b"};
  std::vector<uint32_t> batches = {1, 8, 16, 32, 64, 512};
  uint32_t device = 0;
};

Result<TypeId> type_of(const std::string& name) {
  for (const TypeTraits& type : all_types()) {
    if (type.name == name) return type.id;
  }
  return invalid_argument("--types: there is no type " + name, "types");
}

Result<std::vector<bench::Product>> wanted_products(const Options& options) {
  std::vector<bench::ProductShape> shapes;
  for (const bench::ProductShape& shape : kShapes) {
    for (const std::string& model : options.models) {
      if (shape.name.starts_with(model + " ")) shapes.push_back(shape);
    }
  }
  std::vector<TypeId> types;
  for (const std::string& name : options.types) {
    RZ_TRY(const TypeId type, type_of(name));
    types.push_back(type);
  }
  return bench::products_of(shapes, types, options.batches);
}

void print_time(const bench::Product& product, const bench::ProductTime& time, const cuda::DevicePeaks& peaks) {
  const double gb_per_s = static_cast<double>(time.n_bytes) / time.us / 1e3;
  const double gflop_per_s = static_cast<double>(time.n_flops) / time.us / 1e3;
  const bool is_int8 = layout_of(product.type) == Layout::kGroups;
  const double peak = is_int8 ? peaks.int8_gop_per_s : peaks.bf16_gflop_per_s;
  fmt::print("{:<12} {:<12} {:<8} {:>5} {:>10.2f} {:>8.1f} {:>8.1f} % {:>8.2f} {:>8.1f} %\n",
             bench::name_of(product.kernel), product.shape.name, traits(product.type).name, product.batch, time.us,
             gb_per_s, 100 * gb_per_s / peaks.copy_gb_per_s, gflop_per_s / 1e3, 100 * gflop_per_s / peak);
  std::fflush(stdout);
}

Status run(const Options& options) {
  RZ_TRY(const std::vector<bench::Product> products, wanted_products(options));
  RZ_TRY(const auto device, cuda::open_device(options.device));
  RZ_TRY(const cuda::DevicePeaks peaks, cuda::measure_peaks(*device));
  fmt::print("{}: copies {:.0f} GB/s; by mma.sync {:.0f} TFLOP/s in bf16, {:.0f} TOP/s in int8\n",
             device->description(), peaks.copy_gb_per_s, peaks.bf16_gflop_per_s / 1e3, peaks.int8_gop_per_s / 1e3);
  fmt::print("{:<12} {:<12} {:<8} {:>5} {:>10} {:>8} {:>10} {:>8} {:>10}\n", "kernel", "matrix", "type", "rows", "us",
             "GB/s", "of copying", "TFLOP/s", "of mma");
  bench::ProductBench bench(*device, kPoolBytes);
  for (const bench::Product& product : products) {
    RZ_TRY(const bench::ProductTime time, bench.time(product));
    print_time(product, time, peaks);
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Times the CUDA backend's matrix products in the shapes of real models");
  Options options;
  app.add_option("--types", options.types, "types of the weights")->delimiter(',')->capture_default_str();
  app.add_option("--models", options.models, "whose shapes: 1.5b, 8b, 70b")->delimiter(',')->capture_default_str();
  app.add_option("--batches", options.batches, "rows of activations")->delimiter(',')->capture_default_str();
  app.add_option("--device", options.device, "number of the GPU")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (const Status status = run(options); !status.ok()) {
    fmt::print(stderr, "cuda_bench: {}\n", status.error().message);
    return 1;
  }
  return 0;
}
