// Admission when requests of several tenants exceed the capacity: random schedules on a simulated machine.
#include "engine/admission.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "engine/open_requests.h"

namespace realizar::engine {
namespace {

constexpr uint32_t kMaxSeqs = 8, kMaxOpen = 24, kBlockTokens = 16, kMaxRows = 256, kPrefillTokens = 64;
constexpr uint64_t kModest = 100;  // the tenant with small requests, one at a time
constexpr double kLongestWaitMs = 100;

struct Sent final : RequestSink {
  Request request;
  double sent_ms = 0;
  bool has_ended = false;
  FinishReason reason{};
  std::string error_subject;

  bool on_token(const TokenEvent&) override { return true; }
  void on_end(const Ending& ending) noexcept override {
    has_ended = true;
    reason = ending.reason;
    if (ending.error != nullptr) error_subject = ending.error->subject;
  }
};

// Blocks have no bytes in this test.
struct NoBytes final : kv::BlockStore {
  bool save(BlockId, uint32_t) override { return false; }
  void restore(uint32_t, BlockId) override {}
  void copy(BlockId, BlockId) override {}
};

EngineOptions options_of(PriorityScope scope) {
  EngineOptions options;
  options.max_seqs = kMaxSeqs;
  options.max_batch_tokens = kMaxRows;
  options.priority_scope = scope;
  return options;
}

// Step times like a GPU's: a part for the weights, and one for the rows.
double step_ms(const StepWork& work) {
  return 8 + 0.06 * work.n_decode_rows + 0.03 * (work.n_prompt_tokens + work.n_replayed_tokens);
}

class Simulation {
 public:
  Simulation(uint32_t seed, uint32_t n_blocks) : random_(seed), pool_(n_blocks, kBlockTokens, {1, 2}, &no_bytes_) {
    admission_.set_max_open(kMaxOpen);
  }

  uint32_t between(uint32_t least, uint32_t most) {
    return std::uniform_int_distribution<uint32_t>(least, most)(random_);
  }
  double now_ms() const { return now_ms_; }
  const Admission& admission() const { return admission_; }

  // Null if there is no room for it.
  Sent* send(uint64_t tenant, uint32_t n_prompt, uint32_t n_generated) {
    if (!open_.take(tenant)) return nullptr;
    auto sent = std::make_unique<Sent>();
    sent->request.tenant = tenant;
    for (uint32_t i = 0; i < n_prompt; ++i) sent->request.prompt.push_back(TokenId{static_cast<int>(between(0, 999))});
    sent->request.max_tokens = n_generated;
    sent->sent_ms = now_ms_;
    const SequenceLimits limits{.n_ctx = 1024, .n_vocab = 1000, .d_model = 1, .max_drafts = 0};
    auto sequence = make_sequence(sent->request, *sent, limits, pool_, tenant);
    EXPECT_TRUE(sequence.ok());
    sent_.push_back(std::move(sent));
    admission_.submit(std::move(*sequence));
    return sent_.back().get();
  }

  void step() {
    admission_.update(Sequence::Clock::now());
    while (!plan()) admission_.preempt();
    now_ms_ += step_ms(work_of(plan_));
    admission_.charge(plan_);
    for (const PlannedChunk& chunk : plan_) take(chunk, *admission_.running()[chunk.seq_idx]);
    admission_.remove_ended();
  }

  // Frees the slots of ended requests, and forgets them.
  void collect(const std::function<void(const Sent&)>& on_end) {
    std::erase_if(sent_, [&](const std::unique_ptr<Sent>& sent) {
      if (!sent->has_ended) return false;
      open_.give_back(sent->request.tenant);
      on_end(*sent);
      return true;
    });
  }

 private:
  bool plan() {
    plan_step(admission_.running(), {kMaxRows, kMaxSeqs, kPrefillTokens, false}, plan_);
    return std::ranges::all_of(plan_, [&](const PlannedChunk& chunk) {
      Sequence& sequence = *admission_.running()[chunk.seq_idx];
      return sequence.cache.reserve(sequence.n_computed() + chunk.n_tokens);
    });
  }

  void take(const PlannedChunk& chunk, Sequence& sequence) {
    sequence.cache.commit(sequence.tokens, chunk.n_tokens, chunk.is_prompt());
    if (chunk.n_logit_rows == 0) return;
    sequence.tokens.push_back(TokenId{1});
    sequence.first_wanted = sequence.n_known() - 1;
    if (sequence.n_generated() == sequence.n_wanted) sequence.finish(FinishReason::kLength);
  }

  std::mt19937 random_;
  double now_ms_ = 0;
  NoBytes no_bytes_;
  kv::BlockPool pool_;
  EngineCounters counters_;
  IdlePrefill idle_prefill_{pool_, kMaxRows, false, counters_};
  Admission admission_{pool_, idle_prefill_, options_of(PriorityScope::kTenant), true, counters_};
  OpenRequests open_{kMaxOpen};
  std::vector<PlannedChunk> plan_;
  std::vector<std::unique_ptr<Sent>> sent_;
};

class Schedules : public ::testing::TestWithParam<uint32_t> {};

// The others give way, but still make progress.
void expect_no_small_request_waits(Simulation& simulation, uint32_t longest_prompt, uint32_t longest_answer) {
  const uint32_t n_greedy = simulation.between(1, 3);
  const Sent* modest = nullptr;
  double modest_at_ms = 50;
  uint32_t n_modest = 0, n_greedy_ended = 0, n_shed = 0;
  while (n_modest < 60 || n_shed == 0 || n_greedy_ended == 0) {
    for (uint64_t tenant = 0; tenant < n_greedy; ++tenant) {
      while (simulation.send(tenant, simulation.between(1, longest_prompt), simulation.between(1, longest_answer))) {
      }
    }
    if (modest == nullptr && simulation.now_ms() >= modest_at_ms) {
      modest = simulation.send(kModest, simulation.between(1, 20), 1);
      ASSERT_NE(modest, nullptr) << "it was turned away";
    }
    simulation.step();
    ASSERT_LE(simulation.admission().running().size(), kMaxSeqs);
    const double waited_ms = modest == nullptr ? 0 : simulation.now_ms() - modest->sent_ms;
    ASSERT_LE(waited_ms, kLongestWaitMs);
    simulation.collect([&](const Sent& sent) {
      n_shed += sent.error_subject == kQueueSubject ? 1 : 0;
      n_greedy_ended += sent.reason == FinishReason::kLength && &sent != modest ? 1 : 0;
      if (&sent != modest) return;
      EXPECT_EQ(sent.reason, FinishReason::kLength);
      modest = nullptr;
      modest_at_ms = simulation.now_ms() + simulation.between(0, 60);
      ++n_modest;
    });
  }
}

TEST_P(Schedules, ASmallRequestBelowItsTenantsShareNeverWaits) {
  Simulation simulation(GetParam(), 96);
  const uint32_t longest_prompt = simulation.between(0, 1) == 0 ? 40 : 400;
  expect_no_small_request_waits(simulation, longest_prompt, simulation.between(1, 400));
}

// All running sequences together want more next than a tenant's share.
TEST_P(Schedules, NorWhereBlocksAreFew) {
  Simulation simulation(GetParam(), 20 + GetParam() % 20);
  expect_no_small_request_waits(simulation, simulation.between(1, 40), simulation.between(1, 60));
}

INSTANTIATE_TEST_SUITE_P(Random, Schedules, ::testing::Range(0u, 60u));

TEST(OpenRequests, ATenantBelowItsShareFindsRoomWhereAnotherHasMore) {
  OpenRequests open(4);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(open.take(1));
  EXPECT_FALSE(open.take(1));
  EXPECT_TRUE(open.take(2));
  EXPECT_TRUE(open.take(2));
  EXPECT_FALSE(open.take(2)) << "half is its share";
  open.give_back(1);
  open.give_back(1);
  EXPECT_EQ(open.n_open(), 4u);
  EXPECT_FALSE(open.take(1)) << "both have their share";
  open.give_back(2);
  EXPECT_TRUE(open.take(1));
}

TEST(OpenRequests, ThereIsABoundHoweverManyTenantsCome) {
  OpenRequests open(4);
  for (uint64_t tenant = 0; tenant < 4; ++tenant) ASSERT_TRUE(open.take(tenant));
  for (uint64_t tenant = 4; tenant < 100; ++tenant) EXPECT_FALSE(open.take(tenant)) << "everyone has one";
  EXPECT_EQ(open.n_open(), 4u);
}

}  // namespace
}  // namespace realizar::engine
