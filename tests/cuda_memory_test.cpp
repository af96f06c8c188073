// The CUDA backend's device memory: planes share allocations, attention stays within its reserved memory whatever the
// batch, and scratch that has grown is released.
#include <gtest/gtest.h>

#include <bit>

#include "backend/cuda/device/arena.h"
#include "backend/cuda/device/peaks.h"
#include "backend/cuda/kernels/attention_shape.h"
#include "backend/cuda/weights/weights.h"
#include "engine/cache_sizes.h"
#include "model/forward.h"
#include "support/context_rig.h"
#include "support/emulated_cuda.h"
#include "support/engine_rig.h"
#include "support/test_weights.h"
#include "support/tiny_model.h"

namespace realizar::test {
namespace {

constexpr size_t kPiece = size_t{2} << 20, kShared = size_t{64} << 20;

EmulatedDeviceOptions mapped_in_pieces(EmulatedMemory& memory, size_t memory_bytes = SIZE_MAX) {
  return {.memory_bytes = memory_bytes, .piece_bytes = kPiece, .shared_allocation_bytes = kShared, .memory = &memory};
}

TEST(CudaArena, SmallThingsShareAllocations) {
  EmulatedMemory memory;
  const auto device = make_emulated_cuda_device(mapped_in_pieces(memory));
  cuda::Arena arena(*device);
  constexpr size_t kThings = 100, kBytes = 300000;
  std::vector<std::byte*> taken;
  for (size_t i = 0; i < kThings; ++i) {
    const size_t sizes[] = {kBytes};
    const size_t n_expected = arena.n_allocated_with(sizes);
    taken.push_back(static_cast<std::byte*>(*arena.take(kBytes)));
    EXPECT_EQ(arena.n_allocated(), n_expected);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(taken.back()) % cuda::kAllocationAlign, 0u);
    for (size_t b = 0; b < kBytes; b += 1000) taken.back()[b] = static_cast<std::byte>(i);
  }
  for (size_t i = 0; i < kThings; ++i) EXPECT_EQ(taken[i][kBytes / 1000 / 2 * 1000], static_cast<std::byte>(i));
  EXPECT_LE(arena.n_allocated(), 2 * kThings * kBytes + kPiece);  // chunks double
  EXPECT_EQ(memory.device_bytes, arena.n_allocated());            // the account is exact
}

TEST(CudaArena, WhatIsLargeHasItsOwnAllocation) {
  EmulatedMemory memory;
  const auto device = make_emulated_cuda_device(mapped_in_pieces(memory));
  cuda::Arena arena(*device);
  ASSERT_TRUE(arena.take(kShared / 2 + 1).ok());
  EXPECT_EQ(arena.n_allocated(), kShared / 2 + kPiece);
}

TEST(CudaArena, TakesNoMoreThanItsLimitWhereLessWouldDo) {
  EmulatedMemory memory;
  const auto device = make_emulated_cuda_device(mapped_in_pieces(memory));
  cuda::Arena arena(*device);
  constexpr size_t kLimit = 2 * kPiece;  // a second chunk of twice the first one's size would exceed it
  arena.set_limit(kLimit);
  for (size_t n = 0; n < 40; ++n) ASSERT_TRUE(arena.take(100000).ok());
  EXPECT_EQ(arena.n_allocated(), kLimit);
}

TEST(CudaArena, AFailedAllocationLeavesItAsItWas) {
  EmulatedMemory memory;
  const auto device = make_emulated_cuda_device(mapped_in_pieces(memory, kPiece));
  cuda::Arena arena(*device);
  ASSERT_TRUE(arena.take(1000).ok());
  const size_t n_before = arena.n_allocated();
  EXPECT_EQ(arena.take(2 * kPiece).error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(arena.n_allocated(), n_before);
  EXPECT_TRUE(arena.take(1000).ok());
}

// Separate allocations for each plane would take nearly twice as much.
TEST(CudaWeights, ManyMatricesFitWhereTheyShareAllocations) {
  constexpr uint32_t kMatrices = 24, kRows = 256, kCols = 1100;
  EmulatedMemory memory;
  const size_t n_bytes = size_t{kMatrices} * kRows * (kCols + 20) * sizeof(float);
  const auto device = make_emulated_cuda_device(mapped_in_pieces(memory, n_bytes * 5 / 4));
  ThreadTeam packers(1);
  cuda::Weights weights(*device, packers);
  weights.set_room({.n_bytes = n_bytes * 5 / 4, .fits_whole = true, .n_gpu_layers = {}});
  const TestMatrix m = random_matrix(TypeId::kF32, 1, kRows, kCols, 1);
  for (uint32_t i = 0; i < kMatrices; ++i) {
    MatrixSource source = m.source();
    source.layer = static_cast<int32_t>(i);
    const auto id = weights.add_matrix(source, {0, kRows, 0, kCols});
    ASSERT_TRUE(id.ok()) << "matrix " << i << ": " << id.error().message;
  }
  ASSERT_TRUE(weights.finish().ok());
  EXPECT_EQ(weights.n_streamed_layers(), 0u);
  EXPECT_GE(weights.bytes(), size_t{kMatrices} * kRows * kCols * sizeof(float));
}

// A long context together with short ones, for decode rows and for prompts, in one pass and in several.
const std::vector<SeqRows> kLongAndShort = {{0, 4609, 1}, {1, 0, 1}, {2, 700, 1}, {3, 299, 1}};
const std::vector<SeqRows> kPrompts = {{0, 2030, 100}, {1, 0, 70}, {2, 2100, 3}};

std::vector<float> attended_within(uint64_t partial_bytes, const ContextShape& shape, const std::vector<SeqRows>& rows,
                                   uint32_t n_decode) {
  return attended(*make_cuda_on(open_emulated_cuda, 1, {.partial_bytes = partial_bytes}), shape, rows, n_decode);
}

TEST(CudaAttentionMemory, PassesChangeNoBits) {
  for (const ContextShape& shape :
       {ContextShape{.head_dim = 32, .n_heads = 3}, ContextShape{.head_dim = 32, .n_heads = 3, .window = 300},
        ContextShape{.head_dim = 48, .n_heads = 2, .latent_dim = 32}}) {
    EXPECT_EQ(attended_within(1, shape, kLongAndShort, 4),
              attended_within(cuda::kPartialBytes, shape, kLongAndShort, 4));
    EXPECT_EQ(attended_within(1, shape, kPrompts, 0), attended_within(cuda::kPartialBytes, shape, kPrompts, 0));
  }
}

// A step of 64 rows with long contexts uses exactly the reserved memory: a card that is otherwise full runs it.
TEST(CudaAttentionMemory, AStepTakesNoMoreThanTheAccountSays) {
  EmulatedMemory memory;
  const OpenCuda open = [&]() -> Result<std::unique_ptr<cuda::Device>> {
    return make_emulated_cuda_device({.memory = &memory});
  };
  const ContextShape shape{.head_dim = 32, .n_heads = 3};
  const std::vector<uint32_t> contexts = {4610, 2130, 20, 400};
  ContextRig rig(*make_cuda_on(open, 1, {.partial_bytes = 1}), shape, contexts);
  rig.store_history(0, 1);  // once for everything but attention
  const size_t n_before = memory.device_bytes;
  rig.store_history(0, 4609);
  rig.store_history(1, 2100);
  rig.store_history(3, 300);
  const cuda::AttentionHeads heads{shape.n_heads, shape.head_dim};
  const uint64_t n_partials = cuda::partials_bytes(heads, rig.limits(), 4610, 1);
  const uint64_t n_lists =
      std::bit_ceil(cuda::max_row_cuts(cuda::decode_passes(heads, 4610, 1), rig.limits().max_rows)) *
      sizeof(cuda::RowCut);
  const uint64_t n_counters = rig.limits().max_rows * shape.n_heads * sizeof(uint32_t);
  rig.attend(std::vector<SeqRows>{{2, 5, 1}}, 1);
  const size_t n_after_short = memory.device_bytes;
  EXPECT_EQ(n_after_short, n_before + n_partials + n_lists + n_counters);
  rig.attend(std::vector<SeqRows>{{0, 4609, 1}, {1, 2100, 30}, {3, 300, 64}, {2, 19, 1}}, 1);
  rig.attend(std::vector<SeqRows>{{3, 300, 64}, {0, 4609, 1}}, 65);
  EXPECT_EQ(memory.device_bytes, n_after_short);
}

// Programs share the memory for computing steps: it has the size that the largest needs, whatever ran before.
TEST(CudaScratch, WhatHasGrownGivesBackWhatItHad) {
  EmulatedMemory memory;
  const OpenCuda open = [&]() -> Result<std::unique_ptr<cuda::Device>> {
    return make_emulated_cuda_device({.memory = &memory});
  };
  constexpr uint32_t kWidths[] = {32, 256, 1024};
  const auto bytes_after = [&](std::initializer_list<size_t> programs) {
    memory = {};
    OpRig rig(*make_cuda_on(open, 1, {}), {.max_rows = 64, .max_logit_rows = 1});
    std::vector<LinearOp> ops;
    for (const uint32_t n_cols : kWidths) {
      ops.push_back({.out = rig.output(32),
                     .in = rig.input(random_inputs(1, n_cols, 1)),
                     .weight = rig.matrix(random_matrix(TypeId::kQ8_0, 1, 32, n_cols, 2))});
    }
    for (const size_t i : programs) {
      rig.step(rows_of(first_tokens(1), 0), {ops[i].in}, [&](Program& p) { p.add(ops[i]); });
    }
    return memory.device_bytes;
  };
  EXPECT_EQ(bytes_after({0, 1, 2}), bytes_after({2}));
  EXPECT_GT(bytes_after({1}), bytes_after({0}));
}

// The memory reserved on each device before the weights are loaded, and the memory that the model's steps then use
// there.
struct SetAside {
  uint64_t before, after;
};
SetAside set_aside_on(std::unique_ptr<Backend> backend, const ModelFile& file, uint32_t n_sharing) {
  const engine::EngineOptions options{.n_ctx = 600, .max_seqs = 2, .max_batch_tokens = 96};
  const ModelConfig config = *read_config(file, {.n_ctx = options.n_ctx});
  const KvLayout cache = common_layout(engine::cache_layout_for(config, options));
  std::vector<TypeId> types;
  for (const TensorInfo& tensor : file.tensors()) types.push_back(tensor.type);
  const Program program = outline_forward(config);
  const uint64_t before = cuda::scratch_bytes(program, {engine::limits_for(options), cache, types, n_sharing});
  EngineRig rig(file, std::move(backend), options);
  return {before, rig.backend().info().devices.at(0)->scratch_bytes};
}

struct ModelRow {
  const ArchSpec* spec;
  bool with_experts;
};
const ModelRow kModelRows[] = {{&kLlama, false}, {&kLlama, true}, {&kGemma2, false}};

ModelFile model_of(const ModelRow& row, TypeId type) {
  TinyModel model = tiny_model(*row.spec, row.with_experts,
                               {.d_model = 64,
                                .n_heads = 8,
                                .n_kv_heads = 4,
                                .head_dim = 16,
                                .d_ff = 128,
                                .n_ctx = 600,
                                .expert_d_ff = 128,
                                .q_rank = 32,
                                .latent = 32,
                                .n_rot = 4,
                                .d_value = 32});
  model.matrix_type = type;
  return std::move(*model.open());
}

TEST(CudaScratch, IsKnownBeforeTheWeightsAre) {
  for (const ModelRow& row : kModelRows) {
    for (const TypeId type : {TypeId::kF32, TypeId::kBF16, TypeId::kQ8_0}) {
      const SetAside bytes = set_aside_on(*make_emulated_cuda(1), model_of(row, type), 1);
      EXPECT_EQ(bytes.before, bytes.after) << row.spec->name << ", " << traits(type).name;
    }
  }
}

// Devices that share a layer have fewer of its hidden columns each, and room for the partial sums of all of them.
TEST(CudaScratch, OfDevicesThatShareLayersIsNoMoreThanWasSetAside) {
  constexpr uint32_t kDevices = 4;
  for (const ModelRow& row : kModelRows) {
    for (const TypeId type : {TypeId::kF32, TypeId::kBF16, TypeId::kQ8_0}) {
      const SetAside bytes =
          set_aside_on(std::move(*make_sharing_emulated_cuda(kDevices, {})), model_of(row, type), kDevices);
      EXPECT_GE(bytes.before, bytes.after) << row.spec->name << ", " << traits(type).name;
    }
  }
}

TEST(CudaPeaks, TakeTheMemoryThatIsLeft) {
  for (const size_t n_left : {size_t{40} << 20, size_t{300} << 20}) {
    EmulatedMemory memory;
    const auto device = make_emulated_cuda_device({.memory_bytes = n_left, .memory = &memory});
    const auto buffers = cuda::allocate_copy_buffers(*device);
    ASSERT_TRUE(buffers.ok()) << n_left;
    EXPECT_LE(2 * buffers->n_bytes, n_left);
    EXPECT_GT(8 * buffers->n_bytes, n_left);
    EXPECT_EQ(memory.device_bytes, 2 * buffers->n_bytes);
  }
  const auto full = make_emulated_cuda_device({.memory_bytes = 1 << 20});
  EXPECT_EQ(cuda::allocate_copy_buffers(*full).error().code, ErrorCode::kResourceExhausted);
}

}  // namespace
}  // namespace realizar::test
