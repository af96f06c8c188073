// Devices that each have a part of every layer compute the same as one, except for the order of sums; and a request's
// result does not depend on anything else there either.
#include <gtest/gtest.h>

#include "base/result_checks.h"
#include "model/forward.h"
#include "support/difference.h"
#include "support/emulated_cuda.h"
#include "support/engine_rig.h"
#include "support/op_rig.h"
#include "support/thread_orders.h"
#include "support/tiny_model.h"

namespace realizar::test {
namespace {

constexpr TinyDims kDims{.d_model = 64, .n_heads = 8, .n_kv_heads = 4, .head_dim = 16, .d_ff = 128, .expert_d_ff = 128};

struct SharingUnderTest {
  const char* name;
  Result<std::unique_ptr<Backend>> (*make)(uint32_t n_devices, const cuda::CudaOptions& options);
};
void PrintTo(const SharingUnderTest& sharing, std::ostream* out) {
  *out << sharing.name;
}
constexpr SharingUnderTest kEmulated{"emulated", make_sharing_emulated_cuda};

ModelFile model_of(const ArchSpec& spec, TypeId type, bool with_experts = false) {
  TinyModel model = tiny_model(spec, with_experts, kDims);
  model.matrix_type = type;
  return std::move(*model.open());
}

// Logits of a prompt in two chunks, then of decode rows.
std::vector<float> logits_on(const ModelFile& file, std::unique_ptr<Backend> backend) {
  EngineRig rig(file, std::move(backend), {.n_ctx = 64, .max_batch_tokens = 16});
  return rig->logits(some_tokens(24, 7, kDims.n_vocab), 20, 6).value();
}

class CudaSharing : public testing::TestWithParam<SharingUnderTest> {
 protected:
  void SetUp() override {
    if (const auto backend = make(4); !backend.ok()) GTEST_SKIP() << backend.error().message;
  }
  static Result<std::unique_ptr<Backend>> make(uint32_t n_devices, const cuda::CudaOptions& options = {}) {
    return GetParam().make(n_devices, options);
  }
  // A model on one device, to compare with.
  static std::unique_ptr<Backend> make_one() {
    const OpenCuda open = GetParam().make == make_sharing_cuda ? open_gpu : open_emulated_cuda;
    return std::move(*make_cuda_on(open, 1, {}));
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, CudaSharing, testing::Values(kEmulated, SharingUnderTest{"gpu", make_sharing_cuda}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(CudaSharing, RefusesLatentsAndStatesBeforeTheirWeightsAreLoaded) {
  const auto backend = *make(2);
  for (const auto& [spec, subject] :
       {std::pair{&kDeepseek2, "latent_dim"}, {&kMamba2, "layers"}, {&kQwen35, "layers"}, {&kGemma3n, "qk_norm"}}) {
    EXPECT_TRUE(fails_with(backend->check(outline_forward(*read_config(model_of(*spec, TypeId::kF32), {}))),
                           ErrorCode::kUnsupported, "", subject));
  }
}

TEST_P(CudaSharing, EveryArchitectureGivesTheLogitsOfOneDevice) {
  struct Row {
    const ArchSpec* spec;
    bool with_experts;
  };
  for (const Row& row : {Row{&kLlama, false}, Row{&kLlama, true}, Row{&kQwen2, false}, Row{&kQwen3Moe, true},
                         Row{&kGemma2, false}, Row{&kPhi2, false}, Row{&kPhi3, false}, Row{&kGpt2, false}}) {
    const ModelFile file = model_of(*row.spec, TypeId::kF32, row.with_experts);
    EXPECT_LE(difference(logits_on(file, make_one()), logits_on(file, *make(2))), 1e-5) << row.spec->name;
  }
}

// Products of blocks add F32 in a different order, and an activation's code may then be the adjacent one.
TEST_P(CudaSharing, EveryTypeGivesTheLogitsOfOneDevice) {
  for (const TypeId type : {TypeId::kF16, TypeId::kBF16, TypeId::kQ8_0, TypeId::kQ4_0, TypeId::kMXFP4}) {
    const ModelFile file = model_of(kLlama, type);
    const auto one = logits_on(file, make_one());
    for (const uint32_t n_devices : {2u, 4u}) {
      EXPECT_LE(difference(one, logits_on(file, *make(n_devices))), 0.01)
          << traits(type).name << " on " << n_devices << " devices";
    }
  }
}

// second . first . x, shared like two matrices of a layer.
std::vector<float> products_on(std::unique_ptr<Backend> backend, MatrixSource first, MatrixSource second) {
  OpRig rig(std::move(backend), {.max_rows = 3, .max_logit_rows = 1});
  first.layer = second.layer = 0;
  first.shard = Shard::kRows;
  second.shard = Shard::kCols;
  first.shard_unit = second.shard_unit = 1;
  const ActId in = rig.input(random_inputs(3, first.n_cols, 2)), hidden = rig.output(first.n_rows);
  const ActId out = rig.output(second.n_rows);
  const WeightId w_first = *rig.backend().load_matrix(first), w_second = *rig.backend().load_matrix(second);
  EXPECT_TRUE(
      rig.backend().create_kv_cache(KvLayout{.n_layers = 1, .n_kv_heads = 4, .head_dim = 8, .n_blocks = 1}).ok());
  rig.step(rows_of(first_tokens(3), 1), {in}, [&](Program& p) {
    p.add(LinearOp{.out = hidden, .in = in, .weight = w_first});
    p.add(LinearOp{.out = out, .in = hidden, .weight = w_second});
  });
  return rig.read(out);
}

// Stored like Conv1D's, [columns, rows].
TEST_P(CudaSharing, TransposedMatricesAreSharedLikeOthers) {
  const TestMatrix up = random_matrix(TypeId::kF32, 1, 32, 24, 1), down = random_matrix(TypeId::kF32, 1, 16, 32, 2);
  const auto turned = [](const TestMatrix& m) {
    std::vector<float> values(m.values.size());
    for (size_t i = 0; i < values.size(); ++i) values[i % m.n_cols * m.n_rows + i / m.n_cols] = m.values[i];
    return values;
  };
  const auto up_values = turned(up), down_values = turned(down);
  MatrixSource turned_up = up.source(), turned_down = down.source();
  turned_up.transposed = turned_down.transposed = true;
  turned_up.pieces = {std::as_bytes(std::span(up_values))};
  turned_down.pieces = {std::as_bytes(std::span(down_values))};
  const auto one = products_on(make_one(), up.source(), down.source());
  EXPECT_LE(difference(one, products_on(*make(4), turned_up, turned_down)), 1e-5);
}

TEST_P(CudaSharing, PartsOfF8KeepTheirScales) {
  const TestMatrix up = random_matrix(TypeId::kF8_E4M3, 1, 512, 160, 1),
                   down = random_matrix(TypeId::kF8_E4M3, 1, 8, 512, 2);
  const auto one = products_on(make_one(), up.source(), down.source());
  EXPECT_LE(difference(one, products_on(*make(4), up.source(), down.source())), 1e-5);
}

TEST_P(CudaSharing, ATokenDependsOnNothingButTheRequest) {
  const ModelFile file = model_of(kLlama, TypeId::kQ8_0);
  const auto make_rig = [&](const engine::EngineOptions& options) { return EngineRig(file, *make(4), options); };
  EXPECT_GT(expect_independent_requests(make_rig, make_rig, kDims.n_vocab), 0u);
}

TEST_P(CudaSharing, StreamedLayersGiveTheSameBits) {
  const ModelFile file = model_of(kLlama, TypeId::kQ8_0);
  const auto resident = logits_on(file, *make(2));
  for (const uint32_t n_gpu_layers : {0u, 1u}) {
    EXPECT_EQ(logits_on(file, *make(2, {.n_gpu_layers = n_gpu_layers})), resident) << n_gpu_layers << " layers stay";
    const cuda::CudaOptions on_disk{
        .n_gpu_layers = n_gpu_layers, .host_bytes = 1000, .layer_folder = testing::TempDir()};
    EXPECT_EQ(logits_on(file, *make(2, on_disk)), resident) << n_gpu_layers << " layers stay, others on the disk";
  }
}

TEST_P(CudaSharing, APrefixComesBackFromTheHostsMemory) {
  const ModelFile file = model_of(kLlama, TypeId::kQ8_0);
  EngineRig rig(file, *make(2), kSmallPool);
  expect_evicted_prefix_back(rig, kDims.n_vocab);
}

// The first layer's keys and values are not sums of parts.
TEST_P(CudaSharing, ABlockOfTheCacheLiesAsOnOneDevice) {
  const ModelFile file = model_of(kLlama, TypeId::kF32);
  std::vector<std::vector<std::byte>> blocks;
  for (const uint32_t n_devices : {1u, 4u}) {
    EngineRig rig(file, n_devices == 1 ? make_one() : std::move(*make(n_devices)), {.n_ctx = 64, .block_tokens = 16});
    Backend& backend = rig.backend();
    ASSERT_TRUE(rig->logits(some_tokens(16, 7, kDims.n_vocab), 16, 1).ok());
    std::vector<std::byte> all;
    for (uint32_t id = 0; id < 4; ++id) {
      std::vector<std::byte> block(backend.block_bytes());
      backend.read_block(BlockId{id}, block);
      all.insert(all.end(), block.begin(), block.begin() + static_cast<std::ptrdiff_t>(block.size() / kDims.n_layers));
    }
    blocks.push_back(std::move(all));
  }
  EXPECT_EQ(blocks[0], blocks[1]);
}

TEST_P(CudaSharing, DecodeStepsAreRecordedOnceAndReplayed) {
  EngineRig rig(model_of(kLlama, TypeId::kQ8_0), *make(2), {.n_ctx = 64});
  ASSERT_TRUE(rig->generate(request_for(some_tokens(5, 3, kDims.n_vocab), 1), {}).ok());
  const auto devices = rig.backend().info().devices;
  ASSERT_EQ(devices.size(), 2u);
  // A step is divided where the devices exchange their parts: twice a layer.
  constexpr uint32_t kParts = 2 * kDims.n_layers + 1;
  for (const DeviceUse* device : devices) {
    EXPECT_EQ(device->n_captures, kParts);
    EXPECT_EQ(device->n_replays, 5 * kParts);
  }
}

TEST_P(CudaSharing, ATraceTellsTheFirstDevicesPart) {
  const auto flops_on = [](std::unique_ptr<Backend> backend) {
    EngineRig rig(model_of(kLlama, TypeId::kQ8_0), std::move(backend), {.n_ctx = 64});
    rig.backend().set_trace(true);
    EXPECT_TRUE(rig->logits(some_tokens(4, 7, kDims.n_vocab), 4, 1).ok());
    uint64_t flops = 0;
    for (const OpTiming& timing : rig.backend().last_trace()) {
      if (timing.kind == OpKind::kGatedLinear || timing.kind == OpKind::kAttention) flops += timing.flops;
    }
    return flops;
  };
  EXPECT_EQ(flops_on(make_one()), 4 * flops_on(*make(4)));
}

TEST_P(CudaSharing, NamesAnArithmeticOfItsOwn) {
  const ModelFile file = model_of(kLlama, TypeId::kQ8_0);
  EngineRig one(file, make_one(), {.n_ctx = 64}), two(file, *make(2), {.n_ctx = 64}),
      four(file, *make(4), {.n_ctx = 64});
  EXPECT_NE(one.backend().info().arithmetic, two.backend().info().arithmetic);
  EXPECT_NE(two.backend().info().arithmetic, four.backend().info().arithmetic);
  EXPECT_NE(two.backend().info().description.find("sharing every layer"), std::string::npos);
}

TEST_P(CudaSharing, WhatHasNoEqualPartsIsRefusedByName) {
  const auto error_of = [](TypeId type, uint32_t n_devices) {
    const ModelFile file = model_of(kLlama, type);
    auto backend = std::move(*make(n_devices));
    EXPECT_TRUE(backend->configure({.max_rows = 8}).ok());
    return Model::load(file, *backend).error();
  };
  const Error heads = error_of(TypeId::kF32, 3);
  EXPECT_EQ(heads.code, ErrorCode::kUnsupported);
  EXPECT_EQ(heads.message, "blk.0.attn_q.weight: 128 rows in units of 32 cannot be shared by 3 devices");
}

TEST_P(CudaSharing, SinksAreRefusedBeforeAnyWeightIsLoaded) {
  const ModelFile file = model_of(kGptOss, TypeId::kF32);
  auto backend = std::move(*make(2));
  ASSERT_TRUE(backend->configure({.max_rows = 8}).ok());
  EXPECT_TRUE(fails_with(Model::load(file, *backend), ErrorCode::kUnsupported, "", "sinks"));
  EXPECT_EQ(backend->info().weight_bytes, 0u);
}

TEST(CudaSharingTogether, GivesTheSameInEveryOrderOfThreads) {
  const ModelFile file = model_of(kQwen3Moe, TypeId::kQ8_0, true);
  expect_same_in_all_orders([&] { return logits_on(file, *kEmulated.make(2, {})); });
}

}  // namespace
}  // namespace realizar::test
