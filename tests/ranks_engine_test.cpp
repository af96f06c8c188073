// An engine whose model several ranks share: a request's tokens only depend on the request and the number of ranks, its
// cache is restored unchanged, and a lost rank ends running requests with an error.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>

#include "backend/cpu/cpu_backend.h"
#include "backend/program.h"
#include "backend/ranks/ranked_backend.h"
#include "backend/reference/reference_backend.h"
#include "backend/row_exchange.h"
#include "support/engine_rig.h"
#include "support/thread_ranks.h"
#include "support/tiny_model.h"

namespace realizar::test {
namespace {

using ranks::RankOptions;
using ranks::RankSplit;

constexpr TinyDims kDims{.d_model = 64, .n_heads = 8, .n_kv_heads = 4, .head_dim = 16, .d_ff = 128, .expert_d_ff = 128};
constexpr uint32_t kLayers = 4;  // the minimum for one per rank

struct Job {
  RankSplit split;
  uint32_t n_ranks;
  const ArchSpec* spec;
  bool with_experts;
};
void PrintTo(const Job& job, std::ostream* out) {
  *out << job.spec->name << (job.with_experts ? " of experts" : "") << ", split " << static_cast<int>(job.split)
       << ", ranks " << job.n_ranks;
}

class RankedEngine : public testing::TestWithParam<Job> {
 protected:
  RankedEngine() : file_(model()) {}
  static ModelFile model() {
    TinyModel made = tiny_model(*GetParam().spec, GetParam().with_experts, dims());
    made.matrix_type = TypeId::kQ8_0;
    return std::move(*made.open());
  }
  static TinyDims dims() {
    TinyDims dims = kDims;
    dims.n_layers = kLayers;
    return dims;
  }
  static std::unique_ptr<Backend> backend(uint32_t n_threads = 1) {
    const RankOptions options{.split = GetParam().split, .n_layers = kLayers};
    return std::move(*make_thread_ranks(GetParam().n_ranks, options, [n_threads](Exchange* exchange) {
      return cpu::make_cpu_backend({.n_threads = n_threads, .exchange = exchange});
    }));
  }

  ModelFile file_;
};

TEST_P(RankedEngine, ATokenDependsOnNothingButTheRequest) {
  Request request = request_for(some_tokens(70, 7, kDims.n_vocab), 11);
  request.max_tokens = 24;
  EngineRig one(file_, backend(), {.n_ctx = 128});
  const auto expected = one->generate(request, {}).value().tokens;
  ASSERT_EQ(expected.size(), 24u);
  for (const uint32_t n_threads : {1u, 2u}) {
    for (const uint32_t chunk : {7u, 64u}) {
      EngineRig rig(file_, backend(n_threads), {.n_ctx = 128, .max_batch_tokens = chunk});
      EXPECT_EQ(rig->generate(request, {}).value().tokens, expected) << n_threads << " threads, chunks of " << chunk;
    }
  }
  if (GetParam().split != RankSplit::kLayer) return;
  EngineRig alone(file_, std::move(*cpu::make_cpu_backend({.n_threads = 1})), {.n_ctx = 128});
  EXPECT_EQ(alone->generate(request, {}).value().tokens, expected);
}

TEST_P(RankedEngine, RequestsOfABatchGiveTheTokensThatTheyGiveAlone) {
  constexpr uint32_t kRequests = 9;
  std::vector<Request> requests;
  std::vector<std::vector<TokenId>> expected;
  EngineRig alone(file_, backend(), {.n_ctx = 96});
  for (uint32_t i = 0; i < kRequests; ++i) {
    requests.push_back(request_for(some_tokens(1 + i * 29 % 60, i + 1, kDims.n_vocab), i));
    requests.back().max_tokens = 1 + i * 7 % 20;
    expected.push_back(alone->generate(requests.back(), {}).value().tokens);
  }
  EngineRig rig(file_, backend(), {.n_ctx = 96, .max_seqs = 4, .max_batch_tokens = 48});
  const auto generations = rig->generate_all(requests);
  ASSERT_TRUE(generations.ok()) << generations.error().message;
  for (uint32_t i = 0; i < kRequests; ++i) EXPECT_EQ((*generations)[i].tokens, expected[i]) << "request " << i;
}

TEST_P(RankedEngine, BlocksComeBackAsTheyWere) {
  EngineRig rig(file_, backend(), {.n_ctx = 64, .block_tokens = 16});
  Request request = request_for(some_tokens(40, 3, kDims.n_vocab), 5);
  ASSERT_TRUE(rig->generate(request, {}).ok());
  Backend& shared = rig.backend();
  std::vector<std::byte> before(shared.block_bytes()), after(shared.block_bytes());
  ASSERT_FALSE(before.empty());
  for (uint32_t i = 0; i < 2; ++i) {
    shared.read_block(BlockId{i}, before);
    shared.copy_block(BlockId{i}, BlockId{3});
    shared.read_block(BlockId{3}, after);
    EXPECT_EQ(before, after);
    shared.zero_block(BlockId{i});
    shared.read_block(BlockId{i}, after);
    EXPECT_TRUE(std::ranges::all_of(after, [](std::byte b) { return b == std::byte{0}; }));
    shared.write_block(BlockId{i}, before);
    shared.read_block(BlockId{i}, after);
    EXPECT_EQ(before, after);
  }
}

std::string name_of(const testing::TestParamInfo<Job>& test) {
  const Job& job = test.param;
  constexpr const char* kSplits[] = {"layer", "tensor", "expert"};
  return std::string(kSplits[static_cast<int>(job.split)]) + std::to_string(job.n_ranks) + "_" +
         std::string(job.spec->name) + (job.with_experts ? "_experts" : "");
}

INSTANTIATE_TEST_SUITE_P(
    Jobs, RankedEngine,
    testing::Values(Job{RankSplit::kLayer, 2, &kLlama, false}, Job{RankSplit::kLayer, 3, &kGemma2, false},
                    Job{RankSplit::kTensor, 2, &kLlama, false}, Job{RankSplit::kTensor, 3, &kQwen2, false},
                    Job{RankSplit::kTensor, 4, &kLlama, true}, Job{RankSplit::kExpert, 2, &kQwen3Moe, true},
                    Job{RankSplit::kExpert, 3, &kLlama, true}),
    name_of);

std::vector<float> some_floats(uint32_t n, uint32_t seed) {
  std::mt19937 bits(seed);
  std::vector<float> values(n);
  for (float& value : values) value = static_cast<float>(bits()) * 0x1p-31f - 1.0f;
  return values;
}

// out[i] = out[i] + part 0 + part 1 ... of every rank, as backends compute a JoinOp.
std::vector<float> joined(Exchange& exchange, const std::vector<float>& part, std::vector<float> out) {
  RowExchange rows(&exchange);
  std::vector<float> parts(rows.join_floats(part.size()));
  const Sharing::Range range = rows.begin_join(part, parts);
  for (uint32_t i = 0; i < range.n; ++i) {
    float sum = parts[i];
    for (uint32_t rank = 1; rank < exchange.n_ranks(); ++rank) sum += parts[size_t{rank} * range.n + i];
    out[range.first + i] += sum;
  }
  rows.end_join(out);
  EXPECT_TRUE(rows.take_status().ok());
  return out;
}

// Few numbers are added by every rank, many in slices, one per rank: the bits are equal.
TEST(RowExchange, JoinsInTheOrderOfRanks) {
  for (const uint32_t n_ranks : {2u, 3u, 5u}) {
    for (const uint32_t n_floats : {1u, 1000u, 50001u}) {
      std::vector<std::vector<float>> parts(n_ranks), outs(n_ranks);
      for (uint32_t rank = 0; rank < n_ranks; ++rank) parts[rank] = some_floats(n_floats, rank + 1);
      const std::vector<float> before = some_floats(n_floats, 99);
      std::vector<float> expected = before;
      for (uint32_t i = 0; i < n_floats; ++i) {
        float sum = parts[0][i];
        for (uint32_t rank = 1; rank < n_ranks; ++rank) sum += parts[rank][i];
        expected[i] += sum;
      }
      ThreadExchanges exchanges(n_ranks);
      std::vector<std::thread> threads;
      for (uint32_t rank = 0; rank < n_ranks; ++rank) {
        threads.emplace_back([&, rank] { outs[rank] = joined(exchanges.of(rank), parts[rank], before); });
      }
      for (std::thread& thread : threads) thread.join();
      for (uint32_t rank = 0; rank < n_ranks; ++rank) EXPECT_EQ(outs[rank], expected) << rank << " of " << n_ranks;
    }
  }
}

// An engine's requests get an error with the name of the lost rank, and none hangs.
TEST(LostRank, EndsRequestsWithItsName) {
  TinyModel made = tiny_model(kLlama, false, kDims);
  const ModelFile file = std::move(*made.open());
  ThreadExchanges exchanges(2);
  auto own = cpu::make_cpu_backend({.n_threads = 2, .exchange = &exchanges.of(0)});
  auto first = std::move(*ranks::make_ranked_backend(std::move(*own), exchanges.of(0), {.split = RankSplit::kTensor}));
  ASSERT_TRUE(first->configure({.max_rows = 8, .max_logit_rows = 1, .max_context = 32}).ok());
  ASSERT_TRUE(Model::load(file, *first, {.n_ctx = 32}).ok());
  CacheLayout layout = KvLayout{.n_layers = kDims.n_layers, .n_kv_heads = 4, .head_dim = 16, .n_blocks = 2};
  ASSERT_TRUE(first->create_kv_cache(layout).ok());
  exchanges.lose(1);
  const auto compiled = first->compile(Program());
  ASSERT_FALSE(compiled.ok());
  EXPECT_EQ(compiled.error().code, ErrorCode::kInternal);
  EXPECT_NE(compiled.error().message.find("rank 1"), std::string::npos) << compiled.error().message;
  EXPECT_TRUE(first->is_lost());
}

}  // namespace
}  // namespace realizar::test
