// Properties of the CUDA backend beyond the operation suite: no result depends on the order in which the threads of a
// block happen to run.
#include <gtest/gtest.h>

#include <numeric>

#include "backend/cuda/compile/launch_plan.h"
#include "backend/cuda/kernels/kernels.h"
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
  const LinearOp linear{.out = out, .in = in, .weight = rig.matrix(m), .epilogue = {.activation = Activation::kSilu}};
  std::vector<uint32_t> tokens(kRows);
  std::iota(tokens.begin(), tokens.end(), 0);
  rig.step(rows_of(tokens, 4), {in}, [&](Program& p) {
    p.add(norm);
    p.add(linear);
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

// The products of a layer: q, k and v of a norm's rows; gate, up and down of those of another.
struct LayerCommands {
  static constexpr uint32_t kCols = 64;
  enum Act : uint32_t { kX, kNormed, kQ, kK, kV, kHidden };

  LayerCommands(TypeId type, cuda::Weights& weights) {
    const TestMatrix m = random_matrix(type, 1, kCols, kCols, 1);
    std::vector<WeightId> ids;
    for (int i = 0; i < 6; ++i) ids.push_back(*weights.add_matrix(m.source(), {0, kCols, 0, kCols}));
    commands.push_back(NormOp{.out = ActId{kNormed}, .in = ActId{kX}});
    for (const uint32_t i : {0u, 1u, 2u}) {
      commands.push_back(LinearOp{.out = ActId{kQ + i}, .in = ActId{kNormed}, .weight = ids[i]});
    }
    commands.push_back(NormOp{.out = ActId{kNormed}, .in = ActId{kX}});
    commands.push_back(GatedLinearOp{.out = ActId{kHidden}, .in = ActId{kNormed}, .gate = ids[3], .up = ids[4]});
    commands.push_back(LinearOp{.out = ActId{kX}, .in = ActId{kHidden}, .weight = ids[5], .accumulate = true});
  }

  std::vector<cuda::Command> commands;
};

TEST(CudaLaunches, ProductsOfOneInputAreOneLaunchAndFindItPrepared) {
  const auto device = make_emulated_cuda_device();
  ThreadTeam packers(1);
  cuda::Weights weights(*device, packers);
  const LayerCommands layer(TypeId::kQ8_0, weights);
  cuda::DeviceProgram program;
  const auto launches = plan_launches(layer.commands, weights, program);
  ASSERT_EQ(launches.size(), 5u) << "norm, qkv, norm, gate and up, down";
  EXPECT_TRUE(launches[0].quantizes_out);
  EXPECT_EQ(launches[1].more.size(), 2u);
  EXPECT_FALSE(launches[1].missing.quantized);
  EXPECT_TRUE(launches[2].quantizes_out) << "what it writes is new";
  EXPECT_TRUE(launches[3].is_paired);
  EXPECT_FALSE(launches[3].missing.quantized);
  EXPECT_FALSE(launches[4].missing.quantized) << "the pair left its product so";
}

TEST(CudaLaunches, APlainInputIsSplitOnceForEachThatIsWritten) {
  const auto device = make_emulated_cuda_device();
  ThreadTeam packers(1);
  cuda::Weights weights(*device, packers);
  const LayerCommands layer(TypeId::kBF16, weights);
  cuda::DeviceProgram program;
  const auto launches = plan_launches(layer.commands, weights, program);
  ASSERT_EQ(launches.size(), 5u);
  EXPECT_FALSE(launches[0].quantizes_out);
  EXPECT_TRUE(launches[1].missing.split);
  EXPECT_FALSE(launches[3].is_paired);
  EXPECT_TRUE(launches[3].missing.split);
  EXPECT_FALSE(launches[3].second_missing.split);
  EXPECT_TRUE(launches[4].missing.split);
}

// A recording belongs to the program and the shape that it was made for, and remains valid only for the same memory.
TEST(CudaGraphs, EachProgramHasItsOwnRecordings) {
  OpRig rig(*make_emulated_cuda(1), {.max_rows = 4, .max_logit_rows = 1});
  const auto product = [&](uint32_t n_cols, uint32_t seed) {
    return LinearOp{.out = rig.output(32),
                    .in = rig.input(random_inputs(1, n_cols, seed)),
                    .weight = rig.matrix(random_matrix(TypeId::kQ8_0, 1, 32, n_cols, seed + 1))};
  };
  const auto run = [&](const LinearOp& op) {
    rig.step(rows_of(first_tokens(1), 1), {op.in}, [&](Program& p) { p.add(op); });
    return rig.read(op.out);
  };
  const LinearOp first = product(64, 1), second = product(64, 3), wide = product(1024, 5);
  const DeviceUse& use = *rig.backend().info().devices.at(0);
  const auto of_first = run(first), of_second = run(second);
  EXPECT_NE(of_first, of_second);
  EXPECT_EQ(use.n_captures, 2u);
  EXPECT_EQ(run(first), of_first);
  EXPECT_EQ(run(second), of_second);
  EXPECT_EQ(use.n_captures, 2u);
  run(wide);  // whose rows as int8 need more memory than was allocated
  EXPECT_EQ(run(first), of_first);
  EXPECT_EQ(use.n_captures, 4u);
}

// A GPU's grids have 65,535 blocks in their second dimension: rows, of which a step of experts has more, must be in the
// first. Launches are checked when they are recorded; nothing runs here.
TEST(CudaBackend, EveryKernelTakesMoreRowsThanAGridsSecondDimensionHolds) {
  constexpr uint32_t kMany = 70000;
  const auto device = make_emulated_cuda_device();
  device->attach();
  ASSERT_TRUE(device->begin_capture().ok());
  const cuda::Stream stream = device->stream();
  const cuda::KernelTable& kernels = device->kernels();
  cuda::Matrix matrix{};
  matrix.n_mats = 1;
  matrix.n_rows = matrix.n_cols = 256;
  cuda::LinearArgs linear{};
  cuda::EmbedArgs embed{};
  cuda::SplitArgs split{};
  split.rows_each = 8;
  cuda::ExpertsHiddenArgs hidden{};
  hidden.op.n_used = 8;
  cuda::ExpertsDownArgs down{};
  for (const TypeId type : {TypeId::kQ8_0, TypeId::kF16}) {
    matrix.type = split.type = type;
    linear.weight = embed.table = hidden.weight = down.down = matrix;
    kernels.embed(embed, kMany, stream);
    kernels.linear(linear, kMany, stream);
    kernels.linear_few(linear, kMany, stream);
    kernels.linear_many(linear, kMany, stream);
    kernels.linear_split(linear, kMany, stream);
    kernels.split(split, kMany, stream);
    kernels.experts_hidden(hidden, kMany, stream);
    kernels.experts_down(down, kMany, stream);
  }
  cuda::NormArgs norm{};
  cuda::QuantizeArgs quantize{};
  quantize.rows_each = 8;
  cuda::ExpertsSumArgs sum{};
  cuda::SumPartsArgs parts{};
  cuda::ChooseArgs choose{};
  norm.n_cols = quantize.n_cols = sum.n_cols = parts.n_cols = choose.n_vocab = 256;
  norm.op.n_groups = 2;
  kernels.norm(norm, kMany, stream);
  kernels.quantize(quantize, kMany, stream);
  kernels.route({}, kMany, stream);
  kernels.experts_sum(sum, kMany, stream);
  kernels.select_rows({}, kMany, stream);
  kernels.sum_parts(parts, kMany, stream);
  kernels.choose(choose, kMany, stream);
  cuda::AttentionArgs attention{};
  attention.op.n_heads = attention.cache.n_kv_heads = 4;
  attention.cache.head_dim = 64;
  attention.cache.type = KvType::kF16;
  attention.n_row_cuts = attention.pass_row_cuts = kMany;
  attention.n_tiles = kMany;
  attention.n_cuts = 2;
  attention.end_row = kMany * cuda::kPromptTileRows;
  kernels.attention_decode(attention, stream);
  kernels.attention_prefill(attention, stream);
  kernels.attention_plain(attention, {}, kMany, stream);
  cuda::RopeStoreArgs rope{};
  rope.op.n_heads = 4;
  rope.cache = attention.cache;
  kernels.rope_store(rope, kMany, stream);
  device->drop(*device->end_capture());
}

TEST(CudaBackend, RefusesAMatrixOfMoreRowsThanALaunchHas) {
  const auto backend = std::move(*make_emulated_cuda(1));
  ASSERT_TRUE(backend->configure({}).ok());
  const std::vector<std::byte> bytes(size_t{32} * (cuda::kMaxMatrixRows + 1) / 32 * 34);
  const MatrixSource source{"output.weight", TypeId::kQ8_0, 1, cuda::kMaxMatrixRows + 1, 32, {bytes}, {}, false};
  const auto id = backend->load_matrix(source);
  ASSERT_FALSE(id.ok());
  EXPECT_EQ(id.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(id.error().message, "output.weight: 524265 rows cannot be used on this device, at most 524264");
}

}  // namespace
}  // namespace realizar::test
