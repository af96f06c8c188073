#include "engine/scheduler.h"

#include <gtest/gtest.h>

#include <numeric>

namespace realizar::engine {
namespace {

// Sequences with their requests.
class Sequences {
 public:
  Sequence& add(uint32_t n_prompt, uint32_t n_computed, uint32_t n_generated = 0) {
    requests_.push_back(std::make_unique<Request>());
    auto seq = std::make_unique<Sequence>();
    seq->id = SeqId{requests_.size()};
    seq->request = requests_.back().get();
    seq->n_prompt = n_prompt;
    seq->cache.commit({}, n_computed, false);
    seq->tokens.resize(n_prompt + n_generated);
    seq->first_wanted = seq->n_known() - 1;
    list.push_back(std::move(seq));
    return *list.back();
  }
  Request& request(size_t i) { return *requests_[i]; }

  std::vector<SequencePtr> list;

 private:
  std::vector<std::unique_ptr<Request>> requests_;
};

std::vector<PlannedChunk> plan_of(const Sequences& sequences, const StepLimits& limits) {
  std::vector<PlannedChunk> plan;
  plan_step(sequences.list, limits, plan);
  return plan;
}

uint32_t tokens_of(const std::vector<PlannedChunk>& plan, uint32_t seq_idx) {
  uint32_t n_tokens = 0;
  for (const PlannedChunk& chunk : plan) n_tokens += chunk.seq_idx == seq_idx ? chunk.n_tokens : 0;
  return n_tokens;
}

TEST(Scheduler, DecodesFirstAndThenTakesPromptsUpToTheBudget) {
  Sequences sequences;
  sequences.add(10, 0);
  sequences.add(5, 5, 1);
  sequences.add(4, 9, 6);
  const auto plan = plan_of(sequences, {100, 100, 4});
  ASSERT_EQ(plan.size(), 3u);
  EXPECT_EQ(plan[0].seq_idx, 1u);
  EXPECT_EQ(plan[0].kind, ChunkKind::kDecode);
  EXPECT_TRUE(plan[0].n_tokens == 1 && plan[0].n_logit_rows == 1);
  EXPECT_EQ(plan[1].seq_idx, 2u);
  EXPECT_EQ(plan[2].kind, ChunkKind::kPrompt);
  EXPECT_EQ(plan[2].n_tokens, 4u);
  EXPECT_EQ(plan[2].n_logit_rows, 0u);
}

// Blocks have 4 tokens: a state is kept every 64 tokens, before the prompt's last token, and where another sequence
// waits for it.
TEST(Scheduler, PromptsOfRecurrentModelsEndWhereStatesAreKept) {
  kv::BlockPool blocks(100, 4, {1, 2}), states(8, 4, {1, 2});
  Sequences sequences;
  for (int i = 0; i < 2; ++i) {
    Sequence& seq = sequences.add(150, 0);
    seq.cache = kv::SequenceCache({blocks, &states}, 0, 0, 200);
  }
  sequences.list[1]->leader = SeqId{1};
  sequences.list[1]->n_shared = 100;
  Sequence& seq = *sequences.list[0];
  std::vector<uint32_t> ends;
  std::vector<bool> keeps;
  while (seq.n_computed() < 150) {
    const auto plan = plan_of(sequences, {100, 100, 100});
    ASSERT_EQ(plan.size(), 1u);
    ends.push_back(seq.n_computed() + plan[0].n_tokens);
    keeps.push_back(plan[0].keeps_state);
    ASSERT_TRUE(seq.cache.reserve(ends.back()));
    seq.cache.commit(seq.tokens, plan[0].n_tokens, true, keeps.back());
  }
  EXPECT_EQ(ends, (std::vector<uint32_t>{64, 100, 128, 148, 150}));
  EXPECT_EQ(keeps, (std::vector<bool>{true, true, true, true, false}));
}

// They count as decoding: the step's budget for prefill does not apply to them and does not delay them.
TEST(Scheduler, RejectedDraftsAreRecomputedAtOnce) {
  kv::BlockPool blocks(100, 4, {1, 2}), states(8, 4, {1, 2});
  Sequences sequences;
  sequences.add(5, 5, 1);  // decodes
  Sequence& seq = sequences.add(8, 0, 5);
  seq.cache = kv::SequenceCache({blocks, &states}, 0, 0, 200);
  ASSERT_TRUE(seq.cache.reserve(9));
  seq.cache.commit(seq.tokens, 9, false);
  const auto plan = plan_of(sequences, {100, 100, 1});
  ASSERT_EQ(plan.size(), 2u);
  EXPECT_EQ(plan[1].kind, ChunkKind::kReplay);
  EXPECT_EQ(plan[1].n_tokens, 4u);
  EXPECT_EQ(plan[1].n_logit_rows, 1u);
}

TEST(Scheduler, DemandAndWorkTellDecodingFromPromptsAndReplays) {
  Sequences sequences;
  sequences.add(100, 40);                   // computes its prompt
  sequences.add(5, 5, 1).drafts.resize(3);  // decodes, with speculative tokens
  sequences.add(4, 9, 6);                   // decodes
  sequences.add(4, 6, 9);                   // was preempted, and recomputes its own tokens
  sequences.add(30, 0).leader = SeqId{1};   // waits for another's prefix
  const StepDemand demand = demand_of(sequences.list, 7);
  EXPECT_EQ(demand.n_decoding, 2u);
  EXPECT_EQ(demand.n_decode_rows, 5u);
  EXPECT_EQ(demand.n_prompts, 9u);
  EXPECT_EQ(demand.n_prompt_tokens, 60u);
  const StepWork work = work_of(plan_of(sequences, {100, 100, 20}));
  EXPECT_EQ(work.n_decode_rows, 5u);
  EXPECT_EQ(work.n_replayed_tokens, 7u);
  EXPECT_EQ(work.n_prompt_tokens, 13u);
}

TEST(Scheduler, PromptsAloneFillTheStep) {
  Sequences sequences;
  sequences.add(10, 0);
  const auto plan = plan_of(sequences, {100, 100, 4});
  ASSERT_EQ(plan.size(), 1u);
  EXPECT_EQ(plan[0].n_tokens, 10u);
  EXPECT_EQ(plan[0].n_logit_rows, 1u);
}

TEST(Scheduler, TheOldestPromptGetsHalfAndTheShortestTheRest) {
  Sequences sequences;
  sequences.add(4000, 0);
  sequences.add(300, 0);
  sequences.add(20, 0);
  const auto plan = plan_of(sequences, {100, 100, 0});
  EXPECT_EQ(tokens_of(plan, 0), 50u);
  EXPECT_EQ(tokens_of(plan, 1), 30u);
  EXPECT_EQ(tokens_of(plan, 2), 20u);
}

TEST(Scheduler, WhatOthersLeaveIsTheOldestPrompts) {
  Sequences sequences;
  sequences.add(4000, 0);
  sequences.add(20, 0);
  const auto plan = plan_of(sequences, {100, 100, 0});
  EXPECT_EQ(tokens_of(plan, 0), 80u);
  EXPECT_EQ(tokens_of(plan, 1), 20u);
}

TEST(Scheduler, AFollowerWaitsForThePrefixThatAnotherComputes) {
  Sequences sequences;
  const SeqId leader = sequences.add(40, 0).id;
  sequences.add(40, 0).leader = leader;
  const auto plan = plan_of(sequences, {100, 100, 0});
  EXPECT_EQ(tokens_of(plan, 0), 40u);
  EXPECT_EQ(tokens_of(plan, 1), 0u);
}

TEST(Scheduler, DraftsAreVerifiedInOneDecodeChunk) {
  Sequences sequences;
  sequences.add(5, 5, 1).drafts.resize(3);
  const auto plan = plan_of(sequences, {100, 100, 0});
  ASSERT_EQ(plan.size(), 1u);
  EXPECT_EQ(plan[0].kind, ChunkKind::kDecode);
  EXPECT_EQ(plan[0].n_tokens, 4u);
  EXPECT_EQ(plan[0].n_logit_rows, 4u);
}

TEST(Scheduler, GeneratedTokensAreReplayedByTheDecodeArithmetic) {
  Sequences sequences;
  sequences.add(5, 5, 7);
  const auto part = plan_of(sequences, {4, 4, 0});
  ASSERT_EQ(part.size(), 1u);
  EXPECT_EQ(part[0].kind, ChunkKind::kReplay);
  EXPECT_EQ(part[0].n_tokens, 4u);
  EXPECT_EQ(part[0].n_logit_rows, 0u);
  EXPECT_EQ(plan_of(sequences, {100, 100, 0})[0].n_logit_rows, 1u);
}

TEST(Scheduler, APromptBeforeKnownTokensNeedsNoLogits) {
  Sequences sequences;
  sequences.add(5, 0, 7);
  EXPECT_EQ(plan_of(sequences, {100, 100, 0})[0].n_logit_rows, 0u);
}

TEST(Scheduler, PromptsOfWhichEveryRowIsWantedTakeWhatLogitRowsThereAre) {
  Sequences sequences;
  Sequence& seq = sequences.add(90, 0);
  for (const uint32_t first_wanted : {0u, 10u, 70u, 89u, 90u}) {
    seq.first_wanted = first_wanted;
    const auto plan = plan_of(sequences, {100, 32, 0});
    EXPECT_EQ(plan[0].n_tokens, std::min(90u, first_wanted + 32)) << first_wanted;
    EXPECT_EQ(plan[0].n_logit_rows, plan[0].n_tokens - first_wanted);
  }
}

TEST(Scheduler, ReplayedTokensWhoseRowsAreWantedTakeThemToo) {
  Sequences sequences;
  sequences.add(5, 5, 40).first_wanted = 20;
  const auto plan = plan_of(sequences, {100, 8, 0});
  EXPECT_EQ(plan[0].kind, ChunkKind::kReplay);
  EXPECT_EQ(plan[0].n_tokens, 23u);
  EXPECT_EQ(plan[0].n_logit_rows, 8u);
}

TEST(Scheduler, NothingToDoOrNoRoomIsAnEmptyPlan) {
  Sequences sequences;
  EXPECT_TRUE(plan_of(sequences, {9, 9, 9}).empty());
  sequences.add(10, 0);
  EXPECT_TRUE(plan_of(sequences, {0, 0, 0}).empty());
}

// Ids in the order of admission; each tenant is charged the cost of its request.
std::vector<size_t> admission_order(Sequences& sequences, FairShare& shares, PriorityScope scope) {
  std::vector<size_t> order;
  while (!sequences.list.empty()) {
    const size_t next = pick_next(sequences.list, shares, scope);
    order.push_back(static_cast<size_t>(sequences.list[next]->id));
    shares.start(sequences.list[next]->request->tenant);
    sequences.list.erase(sequences.list.begin() + static_cast<std::ptrdiff_t>(next));
  }
  return order;
}

class TwoTenants : public ::testing::Test {
 protected:
  // Ids 1, 2, 4, 5 belong to tenant 0, which was served more; 3 and 6 to tenant 7.
  TwoTenants() {
    for (const uint64_t tenant : {0, 0, 7, 0, 0, 7}) {
      sequences_.add(1, 0);
      sequences_.request(sequences_.list.size() - 1).tenant = tenant;
      shares_.join(tenant);
    }
    shares_.charge(0, 100);
    sequences_.list[3]->ending.stats.n_preemptions = 1;
    sequences_.request(4).priority = -1;
  }

  Sequences sequences_;
  FairShare shares_;
};

TEST_F(TwoTenants, AreAdmittedLeastServedFirstAndEachByPriorityThenPutBackThenArrival) {
  EXPECT_EQ(admission_order(sequences_, shares_, PriorityScope::kTenant), (std::vector<size_t>{3, 6, 5, 4, 1, 2}));
}

TEST_F(TwoTenants, AreAdmittedByPriorityFirstWhereItCountsForAll) {
  EXPECT_EQ(admission_order(sequences_, shares_, PriorityScope::kAll), (std::vector<size_t>{5, 4, 3, 6, 1, 2}));
}

TEST_F(TwoTenants, TakeTurnsWhereTheyAreLevel) {
  shares_.charge(7, 100);
  for (const size_t i : {2, 5}) sequences_.request(i).priority = 1000;
  EXPECT_EQ(admission_order(sequences_, shares_, PriorityScope::kTenant), (std::vector<size_t>{5, 3, 4, 6, 1, 2}));
}

TEST(Scheduler, TheYoungestOfTheLeastImportantGivesItsBlocksBack) {
  Sequences sequences;
  for (int i = 0; i < 3; ++i) sequences.add(1, 0);
  for (const PriorityScope scope : {PriorityScope::kTenant, PriorityScope::kAll}) {
    sequences.request(0).priority = 0;
    EXPECT_EQ(pick_victim(sequences.list, FairShare(), scope), 2u);
    sequences.request(0).priority = 5;
    EXPECT_EQ(pick_victim(sequences.list, FairShare(), scope), 0u);
  }
}

TEST(Scheduler, TheTenantThatRunsMostGivesBlocksBackWhateverItsPriority) {
  Sequences sequences;
  FairShare shares;
  for (const uint64_t tenant : {1, 1, 2}) {
    sequences.add(1, 0);
    Request& request = sequences.request(sequences.list.size() - 1);
    request.tenant = tenant;
    request.priority = tenant == 1 ? -1000 : 0;
    shares.join(tenant);
    shares.start(tenant);
  }
  EXPECT_EQ(pick_victim(sequences.list, shares, PriorityScope::kTenant), 1u);
  EXPECT_EQ(pick_victim(sequences.list, shares, PriorityScope::kAll), 2u);
  shares.stop(1);
  sequences.list.erase(sequences.list.begin());
  EXPECT_EQ(pick_victim(sequences.list, shares, PriorityScope::kTenant), 1u) << "of two that are level, the newcomer";
}

TEST(FairShare, RestEarnsNoCredit) {
  FairShare shares;
  shares.join(1);
  shares.charge(1, 1000);
  shares.join(2);
  EXPECT_EQ(shares.n_tokens(2), 1000u);
  shares.charge(2, 10);
  shares.leave(1);
  shares.join(1);
  EXPECT_EQ(shares.n_tokens(1), 1010u);
}

TEST(FairShare, ForgetsWhoIsGoneWhenNobodyIsLeftOrThereAreTooMany) {
  FairShare shares;
  shares.join(1);
  shares.charge(1, 1000);
  shares.leave(1);
  EXPECT_EQ(shares.n_accounts(), 0u);
  EXPECT_EQ(shares.n_tokens(1), 0u) << "nobody was kept waiting";
  shares.join(1);
  for (uint64_t tenant = 2; tenant < 100'000; ++tenant) {
    shares.join(tenant);
    shares.leave(tenant);
    ASSERT_LE(shares.n_accounts(), 5000u);
  }
  shares.charge(1, 10);
  EXPECT_EQ(shares.n_tokens(1), 10u);
}

}  // namespace
}  // namespace realizar::engine
