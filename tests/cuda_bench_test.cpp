// The benchmark of products measures what it claims: every kernel that the backend would use, launched as recorded,
// over weights that take turns. On the emulator, since the actual numbers require a GPU.
#include <gtest/gtest.h>

#include "../bench/product_bench.h"
#include "support/emulated_cuda.h"

namespace realizar::bench {
namespace {

const ProductShape kTiny{"tiny", 24, 256};

TEST(ProductBench, ListsTheKernelsOfDecodeAndOfPrompts) {
  const TypeId types[] = {TypeId::kQ4_K, TypeId::kBF16};
  const uint32_t batches[] = {1, 8, 64};
  std::vector<std::string> names;
  for (const Product& p : products_of({&kTiny, 1}, types, batches)) {
    names.push_back(std::string(name_of(p.kernel)) + " " + std::to_string(p.batch));
  }
  EXPECT_EQ(names, (std::vector<std::string>{"linear 1", "linear_few 8", "linear_few 64", "linear_many 64",
                                             "linear_few_split 1", "linear_few_split 8", "linear_few_split 64",
                                             "linear_split 64"}));
}

TEST(ProductBench, TimesEveryKernelAndCountsItsWork) {
  const auto device = test::make_emulated_cuda_device();
  ProductBench bench(*device, 32 << 10, 1);
  for (const TypeId type : {TypeId::kQ4_K, TypeId::kQ6_K, TypeId::kBF16, TypeId::kF8_E4M3}) {
    for (const uint32_t batch : {1u, 33u}) {
      for (const Product& product : products_of({&kTiny, 1}, {&type, 1}, {&batch, 1})) {
        const auto time = bench.time(product);
        ASSERT_TRUE(time.ok()) << name_of(product.kernel) << ": " << time.error().message;
        EXPECT_GT(time->us, 0);
        EXPECT_EQ(time->n_flops, 2u * 24 * 256 * batch);
        const uint64_t weights = uint64_t{24} * 256 / traits(type).block_elems * traits(type).block_bytes;
        const uint64_t in_and_out = batch * (uint64_t{256} * sizeof(float) + 24 * sizeof(float));
        EXPECT_GE(time->n_bytes, weights);
        EXPECT_LE(time->n_bytes, weights * 5 / 4 + in_and_out + 4 * cuda::kAllocationAlign);
      }
    }
  }
}

TEST(ProductBench, WeightsTakeTurns) {
  const auto device = test::make_emulated_cuda_device();
  const Product product{kTiny, TypeId::kBF16, ProductKernel::kLinear, 1};
  constexpr uint64_t kMatrixBytes = 24 * 256 * 2;
  EXPECT_EQ(ProductBench(*device, 1, 1).time(product)->n_different, 1u);
  EXPECT_EQ(ProductBench(*device, 30 * kMatrixBytes, 1).time(product)->n_different, 30u);
}

TEST(ProductBench, SaysWhatTheDeviceDoesNotHave) {
  const auto full = test::make_emulated_cuda_device({.memory_bytes = 1000});
  const Product product{kTiny, TypeId::kBF16, ProductKernel::kLinear, 1};
  EXPECT_EQ(ProductBench(*full, 1 << 20).time(product).error().code, ErrorCode::kResourceExhausted);
}

}  // namespace
}  // namespace realizar::bench
