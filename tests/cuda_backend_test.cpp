// What the operation suite does not see of the CUDA backend: that no result depends on the order in which the threads
// of a block happen to run.
#include <gtest/gtest.h>

#include <numeric>

#include "support/attention_rig.h"
#include "support/emulated_cuda.h"
#include "support/op_rig.h"
#include "support/thread_orders.h"

namespace realizar::test {
namespace {

constexpr uint32_t kRows = 9;

std::vector<float> normalized_products(TypeId type) {
  const TestMatrix m = random_matrix(type, 1, 20, 512, 1);
  const InputTable inputs = random_inputs(kRows, m.n_cols, 2);
  OpRig rig(*make_emulated_cuda(1), {.max_rows = kRows, .max_logit_rows = 1});
  const ActId in = rig.input(inputs), out = rig.output(m.n_rows);
  const NormOp norm{.out = in, .in = in, .kind = NormKind::kLayer, .eps = 1e-5f};
  const LinearOp linear{.out = out, .in = in, .weight = rig.matrix(m), .activation = Activation::kSilu};
  std::vector<uint32_t> tokens(kRows);
  std::iota(tokens.begin(), tokens.end(), 0);
  rig.step(rows_of(tokens, 4), {in}, [&](Backend& b) {
    b.norm(norm);
    b.linear(linear);
  });
  return rig.read(out);
}

std::vector<float> attended(KvType type) {
  AttentionRig rig(*make_emulated_cuda(1),
                   {.head_dim = 64, .n_heads = 4, .n_kv_heads = 2, .window = 150, .kv_type = type});
  rig.store_history(1, 200);
  return rig.attend({{1, 200, 3}}, 0);
}

TEST(CudaBackend, ProductsAreTheSameInEveryOrderOfThreads) {
  for (const TypeId type : {TypeId::kF16, TypeId::kQ4_K, TypeId::kQ6_K, TypeId::kQ8_0, TypeId::kMXFP4}) {
    expect_same_in_all_orders([type] { return normalized_products(type); });
  }
}

TEST(CudaBackend, AttentionIsTheSameInEveryOrderOfThreads) {
  for (const KvType type : {KvType::kF16, KvType::kQ8_0, KvType::kF8})
    expect_same_in_all_orders([type] { return attended(type); });
}

}  // namespace
}  // namespace realizar::test
