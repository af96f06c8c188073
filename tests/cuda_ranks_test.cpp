// Processes with a GPU each that share a model compute the same as one GPU: with whole layers each, bit for bit; with
// parts of every layer, except for the order of sums, and then the same tokens whatever else is computed with them.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "backend/program.h"
#include "base/result_checks.h"
#include "support/difference.h"
#include "support/emulated_cuda.h"
#include "support/engine_rig.h"
#include "support/thread_ranks.h"
#include "support/tiny_model.h"

namespace realizar::test {
namespace {

using ranks::RankOptions;
using ranks::RankSplit;

constexpr uint32_t kLayers = 4;
constexpr TinyDims kDims{
    .n_layers = kLayers, .d_model = 64, .n_heads = 8, .n_kv_heads = 4, .head_dim = 16, .d_ff = 128, .expert_d_ff = 128};

struct Row {
  const ArchSpec* spec;
  bool with_experts = false;
};

ModelFile model_of(const Row& row, TypeId type) {
  TinyModel model = tiny_model(*row.spec, row.with_experts, kDims);
  model.matrix_type = type;
  return std::move(*model.open());
}

std::unique_ptr<Backend> make_one() {
  return std::move(*make_cuda_on(open_emulated_cuda, 1, {}));
}

std::unique_ptr<Backend> make_shared(RankSplit split, uint32_t n_ranks, cuda::CudaOptions options = {}) {
  const auto make_own = [&](Exchange* exchange) {
    options.exchange = exchange;
    return make_cuda_on(open_emulated_cuda, 1, options);
  };
  return std::move(*make_thread_ranks(n_ranks, RankOptions{.split = split, .n_layers = kLayers}, make_own));
}

// Logits of a prompt in two chunks, then of decode rows.
std::vector<float> logits_on(const ModelFile& file, std::unique_ptr<Backend> backend, KvType kv_type = KvType::kF16) {
  EngineRig rig(file, std::move(backend), {.n_ctx = 64, .max_batch_tokens = 16, .kv_type = kv_type});
  return rig->logits(some_tokens(24, 7, kDims.n_vocab), 20, 6).value();
}

TEST(CudaRanks, WithLayersOfTheirOwnGiveTheBitsOfOneGpu) {
  for (const auto& [row, type] : {std::pair{Row{&kLlama}, TypeId::kQ8_0},
                                  {Row{&kLlama, true}, TypeId::kQ8_0},
                                  {Row{&kQwen2}, TypeId::kQ8_0},
                                  {Row{&kGemma2}, TypeId::kQ8_0},
                                  {Row{&kMamba2}, TypeId::kF32},
                                  {Row{&kQwen35}, TypeId::kF32}}) {
    const ModelFile file = model_of(row, type);
    const auto one = logits_on(file, make_one());
    for (const uint32_t n_ranks : {2u, 3u}) {
      EXPECT_EQ(one, logits_on(file, make_shared(RankSplit::kLayer, n_ranks))) << row.spec->name << " on " << n_ranks;
    }
  }
}

// Keys and values stored as F16 may be the adjacent number there.
TEST(CudaRanks, WithPartsOfEveryLayerGiveTheLogitsOfOneGpu) {
  struct Job {
    Row row;
    KvType kv_type = KvType::kF32;
    double bound = 1e-5;
  };
  for (const Job& job : {Job{{&kLlama}}, Job{{&kLlama, true}}, Job{{&kQwen2}}, Job{{&kGemma2}}, Job{{&kGptOss, true}},
                         Job{{&kGemma2}, KvType::kF16, 2e-4}}) {
    const ModelFile file = model_of(job.row, TypeId::kF32);
    const auto one = logits_on(file, make_one(), job.kv_type);
    for (const uint32_t n_ranks : {2u, 3u}) {
      EXPECT_LE(difference(one, logits_on(file, make_shared(RankSplit::kTensor, n_ranks), job.kv_type)), job.bound)
          << job.row.spec->name << " on " << n_ranks;
    }
  }
}

TEST(CudaRanks, WithWholeExpertsGiveTheLogitsOfOneGpu) {
  struct Job {
    Row row;
    TypeId type;
    double bound;
  };
  for (const Job& job : {Job{{&kLlama, true}, TypeId::kF32, 1e-5}, Job{{&kGptOss, true}, TypeId::kF32, 1e-5},
                         Job{{&kLlama, true}, TypeId::kF16, 1e-5}, Job{{&kQwen3Moe, true}, TypeId::kQ8_0, 0.01}}) {
    const ModelFile file = model_of(job.row, job.type);
    const auto one = logits_on(file, make_one(), KvType::kF32);
    for (const uint32_t n_ranks : {2u, 3u}) {
      EXPECT_LE(difference(one, logits_on(file, make_shared(RankSplit::kExpert, n_ranks), KvType::kF32)), job.bound)
          << job.row.spec->name << " on " << n_ranks;
    }
  }
}

TEST(CudaRanks, ATokenDependsOnNothingButTheRequest) {
  struct Job {
    RankSplit split;
    uint32_t n_ranks;
    Row row;
  };
  for (const Job& job : {Job{RankSplit::kTensor, 2, {&kGemma2}}, Job{RankSplit::kTensor, 3, {&kLlama, true}},
                         Job{RankSplit::kExpert, 2, {&kLlama, true}}, Job{RankSplit::kLayer, 3, {&kGemma2}}}) {
    const ModelFile file = model_of(job.row, TypeId::kQ8_0);
    const auto make = [&](const engine::EngineOptions& options) {
      return EngineRig(file, make_shared(job.split, job.n_ranks), options);
    };
    EXPECT_GT(expect_independent_requests(make, make, kDims.n_vocab), 0u);
  }
}

TEST(CudaRanks, StreamedLayersGiveTheSameBits) {
  const ModelFile file = model_of({&kLlama}, TypeId::kQ8_0);
  for (const RankSplit split : {RankSplit::kTensor, RankSplit::kLayer}) {
    EXPECT_EQ(logits_on(file, make_shared(split, 2, {.n_gpu_layers = 1})), logits_on(file, make_shared(split, 2)));
  }
}

TEST(CudaRanks, DecodeStepsAreRecordedOnceAndReplayed) {
  struct Job {
    RankSplit split;
    uint32_t n_stages;
  };
  // A sum after attention and one after the ffn of each layer divide a step; with whole layers the result is sent when
  // it is done.
  for (const Job& job : {Job{RankSplit::kTensor, 2 * kLayers + 1}, Job{RankSplit::kLayer, 1}}) {
    EngineRig rig(model_of({&kLlama}, TypeId::kQ8_0), make_shared(job.split, 2), {.n_ctx = 64});
    ASSERT_TRUE(rig->generate(request_for(some_tokens(5, 3, kDims.n_vocab), 1), {}).ok());
    const auto devices = rig.backend().info().devices;
    ASSERT_EQ(devices.size(), 1u);
    EXPECT_EQ(devices[0]->n_captures, job.n_stages);
    EXPECT_EQ(devices[0]->n_replays, 5 * job.n_stages);
  }
}

TEST(CudaRanks, BlocksAndStatesComeBackAsTheyWere) {
  for (const Row& row : {Row{&kGemma2}, Row{&kQwen35}}) {
    EngineRig rig(model_of(row, TypeId::kF32), make_shared(RankSplit::kLayer, 2), {.n_ctx = 64, .block_tokens = 16});
    ASSERT_TRUE(rig->generate(request_for(some_tokens(40, 3, kDims.n_vocab), 5), {}).ok());
    Backend& shared = rig.backend();
    std::vector<std::byte> before(shared.block_bytes()), after(shared.block_bytes());
    ASSERT_FALSE(before.empty());
    shared.read_block(BlockId{0}, before);
    shared.zero_block(BlockId{0});
    shared.write_block(BlockId{0}, before);
    shared.read_block(BlockId{0}, after);
    EXPECT_EQ(before, after);
    before.resize(shared.state_bytes());
    after.resize(shared.state_bytes());
    shared.read_state(StateId{0}, before);
    shared.zero_state(StateId{0});
    shared.write_state(StateId{0}, before);
    shared.read_state(StateId{0}, after);
    EXPECT_EQ(before, after);
  }
}

TEST(CudaRanks, SeveralGpusOfAProcessAreRefusedByName) {
  ThreadExchanges exchanges(2);
  const auto backend = std::move(*make_cuda_on(open_emulated_cuda, 2, {.exchange = &exchanges.of(0)}));
  EXPECT_TRUE(
      fails_with(backend->check(Program()), ErrorCode::kUnsupported, "one GPU each, and this one has 2", "device"));
}

TEST(CudaRanks, AProgramOfRanksWantsTheOthers) {
  const auto backend = make_one();
  ASSERT_TRUE(backend->configure({.max_rows = 4, .max_logit_rows = 4, .max_context = 8}).ok());
  Program program;
  const ActId x = program.add_activation("x", 8);
  program.add(SendOp{.act = x, .to = 1});
  EXPECT_EQ(backend->check(program).error().subject, "split");
}

// A program of one join on its own backend.
class OneJoin {
 public:
  explicit OneJoin(Exchange& exchange, const EmulatedDeviceOptions& device = {}) {
    const auto open = [&]() -> Result<std::unique_ptr<cuda::Device>> { return make_emulated_cuda_device(device); };
    backend_ = std::move(*make_cuda_on(open, 1, {.exchange = &exchange}));
    EXPECT_TRUE(backend_->configure({.max_rows = 4, .max_logit_rows = 4, .max_context = 8}).ok());
    const std::vector<float> table(16, 1.0f);
    MatrixSource source;
    source.n_rows = 2;
    source.n_cols = 8;
    source.pieces = {std::as_bytes(std::span(table))};
    const WeightId id = *backend_->load_matrix(source);
    EXPECT_TRUE(backend_->create_kv_cache(KvLayout{.n_layers = 1, .n_kv_heads = 1, .head_dim = 8, .n_blocks = 1}).ok());
    Program program;
    const ActId part = program.add_activation("part", 8);
    sum_ = program.add_activation("sum", 8);
    program.add(EmbedOp{.out = part, .table = id});
    program.add(JoinOp{.out = sum_, .part = part});
    id_ = *backend_->compile(program);
  }
  Status run() {
    const std::vector<TokenId> tokens = {TokenId{0}, TokenId{1}};
    const std::vector<Pos> positions = {Pos{0}, Pos{1}};
    StepBatch batch;
    batch.tokens = tokens;
    batch.positions = positions;
    backend_->run(id_, batch);
    return backend_->wait();
  }
  std::vector<float> sum() const {
    const auto values = backend_->read(sum_);
    return {values.begin(), values.end()};
  }
  const Backend& backend() const { return *backend_; }

 private:
  std::unique_ptr<Backend> backend_;
  ActId sum_{};
  ProgramId id_{};
};

TEST(CudaJoin, AddsTheRowsOfTheStep) {
  ThreadExchanges exchanges(3);
  std::vector<std::unique_ptr<OneJoin>> ranks;
  for (uint32_t rank = 0; rank < 3; ++rank) ranks.push_back(std::make_unique<OneJoin>(exchanges.of(rank)));
  std::vector<std::thread> threads;
  for (const auto& rank : ranks) threads.emplace_back([&rank] { EXPECT_TRUE(rank->run().ok()); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& rank : ranks) EXPECT_EQ(rank->sum(), std::vector<float>(16, 3.0f));
}

TEST(CudaJoin, EndsWithTheNameOfARankThatIsGone) {
  ThreadExchanges exchanges(2);
  OneJoin one(exchanges.of(0));
  std::thread other([&] { exchanges.lose(1); });
  const Status status = one.run();
  other.join();
  EXPECT_TRUE(fails_with(status, ErrorCode::kInternal, "rank 1"));
  EXPECT_TRUE(one.backend().is_lost());
}

// Other ranks wait for its part: joint steps end.
TEST(CudaJoin, EndsWithWhatTheGpuFailedIn) {
  for (const LaunchFault fault : {LaunchFault::kRefused, LaunchFault::kAtWait}) {
    ThreadExchanges exchanges(2);
    OneJoin one(exchanges.of(0), {.launch_fault = fault});
    const std::byte no{0};  // the other rank's answer about NCCL
    const Exchange::Outgoing message{0, {&no, 1}};
    ASSERT_TRUE(exchanges.of(1).transfer({&message, 1}, {}).ok());
    EXPECT_TRUE(fails_with(one.run(), "the emulated device runs no more"));
    EXPECT_FALSE(exchanges.of(0).is_lost());
    EXPECT_TRUE(one.backend().is_lost());
  }
}

}  // namespace
}  // namespace realizar::test
