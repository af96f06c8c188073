// Random schedules on a backend that detects every misplaced block: whatever arrives, is cancelled or preempted, each
// request gives exactly the same tokens as by itself, and nothing leaks.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "engine/engine_thread.h"
#include "engine/model_drafter.h"
#include "engine/prefixes.h"
#include "engine/sequence.h"
#include "support/schedule_rig.h"

namespace realizar {
namespace {

using namespace testing;

TEST(Scheduling, EveryRequestGivesItsOwnTokensUnderAnySchedule) {
  EXPECT_TRUE(rc::check([] {
    engine::EngineOptions options = make_options();
    const bool decode_matches_prefill = *rc::gen::arbitrary<bool>();
    const Layers layers = kAllLayers[*rc::gen::inRange<size_t>(0, std::size(kAllLayers))];
    options.speculates = !has_state(layers) && *rc::gen::arbitrary<bool>();
    Rig rig(options, decode_matches_prefill, layers);
    if (*rc::gen::arbitrary<bool>()) {
      const uint32_t max_catch_up = *rc::gen::inRange(1u, 40u);
      const engine::DrafterOptions of_drafter{.max_seqs = options.max_seqs,
                                              .max_rows = options.max_seqs + max_catch_up,
                                              .max_catch_up = max_catch_up,
                                              .kv_tokens = *rc::gen::inRange(1u, 3 * kContext),
                                              .block_tokens = options.block_tokens};
      rig.use_drafter(of_drafter, layers);
    }
    std::vector<Arrival> arrivals(*rc::gen::inRange<size_t>(1, 14));
    for (size_t i = 0; i < arrivals.size(); ++i) {
      arrivals[i] = make_arrival();
      if (i == 0 || *rc::gen::arbitrary<bool>()) continue;
      go_on_from(arrivals[i - 1], rig.n_vocab(), decode_matches_prefill, layers, arrivals[i]);
    }
    std::vector<Recorder> recorders(arrivals.size());
    run_schedule(rig, arrivals, recorders);

    RC_ASSERT(rig.engine().prefixes().blocks().n_free() == rig.engine().prefixes().blocks().n_blocks());
    const kv::BlockPool* states = rig.engine().prefixes().states();
    if (states != nullptr) RC_ASSERT(states->n_free() == states->n_blocks());
    RC_TAG(has_windows(layers), has_state(layers), rig.engine().counters().n_preemptions > 0,
           rig.engine().counters().n_prefix_hits > 0, rig.engine().counters().n_accepted > 0);
    for (size_t i = 0; i < arrivals.size(); ++i) {
      const auto expected = tokens_alone(arrivals[i].request, rig.n_vocab(), decode_matches_prefill, layers);
      const Recorder& recorder = recorders[i];
      RC_ASSERT(recorder.n_ends == 1);
      RC_ASSERT(recorder.ended_whole);
      if (recorder.reason == FinishReason::kCancelled) {
        RC_ASSERT(recorder.cancelled);
        RC_ASSERT(recorder.tokens.size() <= expected.size());
        RC_ASSERT(std::equal(recorder.tokens.begin(), recorder.tokens.end(), expected.begin()));
      } else {
        RC_ASSERT(recorder.tokens == expected);
        RC_ASSERT(recorder.prompt_logprobs == prompt_logprobs_alone(arrivals[i].request, rig.n_vocab(), layers));
      }
    }
  }));
}

// A chat on a backend whose phases differ: the cached part of an answer was computed by the idle engine.
class IdleEngine : public ::testing::Test {
 protected:
  explicit IdleEngine(bool is_wanted = true)
      : rig_({.max_seqs = 2, .max_batch_tokens = 16, .block_tokens = 8, .idle_prefill = is_wanted}) {}

  Generation generate(const Request& request) {
    Generation generation = engine_.generate(request, {}).value();
    EXPECT_EQ(generation.tokens, tokens_alone(request, rig_.n_vocab()));
    return generation;
  }
  // The turn after `request`, whose answer has been given.
  Request next_turn(const Request& request) {
    Request next = request;
    for (const TokenId id : tokens_alone(request, rig_.n_vocab())) next.prompt.push_back(id);
    next.prompt.push_back(TokenId{0});
    return next;
  }
  void work_to_the_end() {
    while (engine_.has_idle_work()) ASSERT_TRUE(engine_.idle_step().ok());
  }
  uint64_t n_computed() const { return engine_.counters().n_idle_prefill_tokens; }

  Rig rig_;
  engine::Engine& engine_ = rig_.engine();
  const Request first_ = request_of(21, 30);
};

class IdleEngineWithoutPrefill : public IdleEngine {
 protected:
  IdleEngineWithoutPrefill() : IdleEngine(false) {}
};

TEST_F(IdleEngine, MakesAnAnswerPartOfTheNextTurnsPrefix) {
  EXPECT_FALSE(engine_.has_idle_work());
  generate(first_);
  EXPECT_TRUE(engine_.has_idle_work());
  work_to_the_end();
  EXPECT_EQ(n_computed(), 30u);
  EXPECT_EQ(engine_.prefixes().blocks().n_free(), engine_.prefixes().blocks().n_blocks());
  const Request second = next_turn(first_);
  EXPECT_EQ(generate(second).stats.n_cached, 51u);
  EXPECT_EQ(generate(first_).stats.n_cached, 20u) << "the first turn is found as it was";
}

TEST_F(IdleEngineWithoutPrefill, LeavesTheAnswerToTheNextTurn) {
  generate(first_);
  EXPECT_FALSE(engine_.has_idle_work());
  EXPECT_EQ(generate(next_turn(first_)).stats.n_cached, 21u);
}

TEST_F(IdleEngine, LetsARequestInAtOnceAndGoesOnAfterIt) {
  generate(first_);
  ASSERT_TRUE(engine_.idle_step().ok());
  EXPECT_EQ(n_computed(), 16u);
  EXPECT_LT(engine_.prefixes().blocks().n_free(), engine_.prefixes().blocks().n_blocks());
  const Request other = request_of(5, 3);
  Recorder recorder;
  engine_.submit(std::move(*engine_.prepare(other, recorder)));
  EXPECT_EQ(engine_.prefixes().blocks().n_free(), engine_.prefixes().blocks().n_blocks())
      << "it has all blocks to itself";
  EXPECT_FALSE(engine_.has_idle_work());
  while (!engine_.is_idle()) ASSERT_TRUE(engine_.step().ok());
  EXPECT_EQ(recorder.tokens, tokens_alone(other, rig_.n_vocab()));
  work_to_the_end();
  EXPECT_EQ(n_computed(), 30u) << "nothing was computed twice";
  EXPECT_EQ(generate(next_turn(first_)).stats.n_cached, 51u);
}

TEST_F(IdleEngine, TakesUpWhatItHasLeftInTheNextTurn) {
  generate(first_);
  ASSERT_TRUE(engine_.idle_step().ok());
  EXPECT_EQ(generate(next_turn(first_)).stats.n_cached, 37u);
}

TEST_F(IdleEngine, ForgetsTheAnswersOfATenantWithItsPrefixes) {
  Request other = first_;
  other.tenant = other.cache_salt = 7;
  generate(first_);
  generate(other);
  ASSERT_TRUE(engine_.idle_step().ok());  // the other's
  engine_.forget_prefixes(7);
  work_to_the_end();
  EXPECT_EQ(n_computed(), 16u + 30u + 5u) << "the prompt's last tokens too: tails are forgotten whose ever they are";
  EXPECT_EQ(generate(next_turn(other)).stats.n_cached, 0u);
  EXPECT_EQ(generate(next_turn(first_)).stats.n_cached, 51u);
}

TEST_F(IdleEngine, TrustsNothingAfterAStepThatFailed) {
  generate(first_);
  rig_.backend().fail_step(false);
  EXPECT_FALSE(engine_.idle_step().ok());
  EXPECT_FALSE(engine_.has_idle_work());
  EXPECT_EQ(engine_.prefixes().blocks().n_free(), engine_.prefixes().blocks().n_blocks());
  EXPECT_EQ(generate(next_turn(first_)).stats.n_cached, 0u);
}

// A request that ends without an answer, or with less than a block of it, leaves nothing to be done.
TEST_F(IdleEngine, LeavesShortAnswersAndVectorsAlone) {
  generate(request_of(21, 7));
  Request pooled = request_of(21, 0);
  pooled.pooling = Pooling::kLast;
  ASSERT_TRUE(engine_.generate(pooled, {}).ok());
  ASSERT_TRUE(engine_.logits(request_of(40, 0).prompt, 10, 1).ok());
  EXPECT_FALSE(engine_.has_idle_work());
}

// A reader's notification, to sleep on.
class Progress {
 public:
  void made() {
    n_.fetch_add(1);
    n_.notify_one();
  }
  uint32_t seen() const { return n_.load(); }
  void wait(uint32_t n_seen) const { n_.wait(n_seen); }

 private:
  std::atomic<uint32_t> n_{0};
};

// Submitters and readers on separate threads, as in a server.
TEST(Scheduling, StreamsReadOnAnotherThreadLoseNothing) {
  engine::EngineOptions options{
      .max_seqs = 4, .max_batch_tokens = 16, .kv_tokens = 120, .n_draft = 2, .block_tokens = 4};
  Rig rig(options);
  Progress progress;
  std::vector<std::shared_ptr<engine::TokenStream>> streams;
  for (uint32_t i = 0; i < 60; ++i) {
    Request request;
    for (uint32_t t = 0; t < 1 + i * 7 % 50; ++t) request.prompt.push_back(TokenId{static_cast<int32_t>(t * i % 3)});
    request.sampling.seed = i;
    request.max_tokens = i % 40;
    streams.push_back(std::make_shared<engine::TokenStream>(std::move(request)));
  }
  std::map<const engine::TokenStream*, std::vector<TokenId>> tokens;
  std::set<const engine::TokenStream*> ended;
  {
    engine::EngineThread thread(rig.engine(), 60, [&] { progress.made(); });
    std::vector<std::thread> submitters;
    for (size_t part = 0; part < 3; ++part) {
      submitters.emplace_back([&, part] {
        for (size_t i = part; i < streams.size(); i += 3) ASSERT_TRUE(thread.submit(streams[i]).ok());
        streams[part]->cancel();
      });
    }
    while (ended.size() < streams.size()) {
      const uint32_t n_seen = progress.seen();
      while (const auto stream = thread.next_ready()) {
        while (const auto token = stream->pop()) tokens[stream.get()].push_back(token->id);
        if (stream->end() != nullptr) ended.insert(stream.get());
      }
      if (ended.size() < streams.size()) progress.wait(n_seen);
    }
    for (std::thread& submitter : submitters) submitter.join();
    while (thread.next_ready()) {
    }
    EXPECT_EQ(thread.n_open(), 0u);
  }
  for (const auto& stream : streams) {
    const auto expected = tokens_alone(stream->request(), rig.n_vocab());
    const auto& got = tokens[stream.get()];
    ASSERT_LE(got.size(), expected.size());
    EXPECT_TRUE(std::equal(got.begin(), got.end(), expected.begin()));
    if (stream->end()->finish_reason != FinishReason::kCancelled) {
      EXPECT_EQ(got.size(), expected.size());
    }
  }
  EXPECT_EQ(rig.engine().prefixes().blocks().n_free(), rig.engine().prefixes().blocks().n_blocks());
}

void wait_until_read(engine::EngineThread& thread, Progress& progress) {
  while (thread.n_open() > 0) {
    const uint32_t n_seen = progress.seen();
    while (thread.next_ready()) {
    }
    if (thread.n_open() > 0) progress.wait(n_seen);
  }
}

TEST(EngineThread, ARequestForNothingEndsOnAnIdleEngine) {
  Rig rig({.max_seqs = 1, .max_batch_tokens = 16});
  Progress progress;
  engine::EngineThread thread(rig.engine(), 0, [&] { progress.made(); });
  for (int i = 0; i < 3; ++i) {  // the maximum of open ones, several times
    Request request;
    request.prompt = {TokenId{1}};
    request.max_tokens = 0;
    const auto stream = std::make_shared<engine::TokenStream>(request);
    ASSERT_TRUE(thread.submit(stream).ok());
    wait_until_read(thread, progress);
    ASSERT_NE(stream->end(), nullptr);
    EXPECT_EQ(stream->end()->finish_reason, FinishReason::kLength);
  }
}

TEST(EngineThread, AStepThatHangsShowsAsStalled) {
  using std::chrono::milliseconds;
  Rig rig({.max_seqs = 1, .max_batch_tokens = 16});
  Progress progress;
  engine::EngineThread thread(rig.engine(), 0, [&] { progress.made(); });
  EXPECT_FALSE(thread.is_stalled(milliseconds(0)));  // nothing to do
  rig.backend().hold_steps(true);
  Request request;
  request.prompt = {TokenId{1}};
  request.max_tokens = 2;
  ASSERT_TRUE(thread.submit(std::make_shared<engine::TokenStream>(request)).ok());
  while (!thread.is_stalled(milliseconds(1))) std::this_thread::yield();
  EXPECT_FALSE(thread.is_stalled(milliseconds(3'600'000)));
  rig.backend().hold_steps(false);
  wait_until_read(thread, progress);
  EXPECT_FALSE(thread.is_stalled(milliseconds(0)));
}

TEST(Scheduling, AFullQueueAndASlowReaderAreTurnedAway) {
  Rig rig({.max_seqs = 1, .max_batch_tokens = 16});
  Request request;
  request.prompt = {TokenId{1}};
  request.max_tokens = 90;
  const auto slow = std::make_shared<engine::TokenStream>(request, 8);
  Progress progress;
  engine::EngineThread thread(rig.engine(), 0, [&] { progress.made(); });
  ASSERT_TRUE(thread.submit(slow).ok());
  const auto second = std::make_shared<engine::TokenStream>(request);
  EXPECT_EQ(thread.submit(second).error().code, ErrorCode::kResourceExhausted);
  wait_until_read(thread, progress);
  uint32_t n_tokens = 0;
  while (slow->pop()) ++n_tokens;
  ASSERT_NE(slow->end(), nullptr);
  EXPECT_EQ(n_tokens, 7u);
  EXPECT_TRUE(slow->end()->reader_was_slow);
  EXPECT_EQ(slow->end()->finish_reason, FinishReason::kCancelled);
}

// The logits after token 2 are invalid: a request with it ends there, and no other.
class SpoiledLogits : public ::testing::Test {
 protected:
  SpoiledLogits() { rig_.backend().spoil_after(TokenId{2}, NAN); }

  static Request request_with(std::vector<int32_t> prompt) {
    Request request;
    for (const int32_t id : prompt) request.prompt.push_back(TokenId{id});
    request.max_tokens = 5;
    return request;
  }
  uint64_t n_counted() { return rig_.engine().counters().n_nonfinite_logits.load(); }
  void expect_refused(const Request& request, uint32_t pos) {
    const uint64_t n_before = n_counted();
    const auto generation = rig_.engine().generate(request, {});
    ASSERT_FALSE(generation.ok());
    EXPECT_EQ(generation.error().code, ErrorCode::kInternal);
    EXPECT_NE(generation.error().message.find("position " + std::to_string(pos) + ":"), std::string::npos)
        << generation.error().message;
    EXPECT_EQ(n_counted(), n_before + 1);
    EXPECT_EQ(rig_.engine().prefixes().blocks().n_free(), rig_.engine().prefixes().blocks().n_blocks());
  }

  Rig rig_{{.max_seqs = 3, .max_batch_tokens = 16}};
};

TEST_F(SpoiledLogits, EndTheirRequestWithThePositionWhateverWasWanted) {
  for (const float value : {NAN, INFINITY}) {
    rig_.backend().spoil_after(TokenId{2}, value);
    expect_refused(request_with({1, 1, 2}), 2);
    Request scored = request_with({1, 2, 1, 1});
    scored.prompt_logprobs = scored.logprobs = true;
    expect_refused(scored, 1);
    for (const Pooling pooling : {Pooling::kLast, Pooling::kMean}) {
      Request pooled = request_with({1, 2});
      pooled.pooling = pooling;
      expect_refused(pooled, 1);
    }
  }
  const auto logits = rig_.engine().logits(request_with({1, 2, 1}).prompt, 3, 2);
  ASSERT_FALSE(logits.ok());
  EXPECT_NE(logits.error().message.find("position 1:"), std::string::npos) << logits.error().message;
}

TEST(Scheduling, LogitsAreThoseOfTheTokensWhateverRunsBeside) {
  Request beside = request_of(30, 40);
  beside.priority = -1;
  std::vector<TokenId> tokens;
  for (int32_t i = 0; i < 80; ++i) tokens.push_back(TokenId{i * i % 5});
  for (const uint32_t n_prompt : {1u, 40u, 79u, 80u}) {
    // Blocks are short, so that speculative tokens are taken back across them.
    Rig rig({.max_seqs = 3, .max_batch_tokens = 16, .max_prefill_tokens = 8, .kv_tokens = 110, .n_draft = 2});
    Recorder recorders[2];
    for (Recorder& recorder : recorders) rig.engine().submit(std::move(*rig.engine().prepare(beside, recorder)));
    const auto logits = rig.engine().logits(tokens, n_prompt, 60).value();
    for (const Recorder& recorder : recorders) EXPECT_EQ(recorder.tokens, tokens_alone(beside, rig.n_vocab()));
    std::vector<float> expected(rig.n_vocab());
    uint64_t hash = 1;
    ASSERT_EQ(logits.size(), 60 * expected.size());
    for (uint32_t pos = 0; pos < tokens.size(); ++pos) {
      hash = HashBackend::fold(hash, tokens[pos], pos >= n_prompt);
      if (pos < 20) continue;
      HashBackend::fill_logits(hash, expected);
      const auto row = std::span(logits).subspan((pos - 20) * expected.size(), expected.size());
      EXPECT_TRUE(std::ranges::equal(row, expected)) << n_prompt << " at " << pos;
    }
    EXPECT_EQ(rig.engine().prefixes().blocks().n_free(), rig.engine().prefixes().blocks().n_blocks());
  }
}

TEST_F(SpoiledLogits, LeaveTheirNeighboursAlone) {
  const Request good = request_with({1, 3, 1});
  Request forced = good;  // its first token is one with invalid logits after it
  forced.sampling.logit_bias = {{TokenId{2}, 1000.0f}};
  Recorder recorders[3];
  const Request requests[] = {good, forced, good};
  for (size_t i = 0; i < 3; ++i) rig_.engine().submit(std::move(*rig_.engine().prepare(requests[i], recorders[i])));
  while (!rig_.engine().is_idle()) ASSERT_TRUE(rig_.engine().step().ok());
  for (const size_t i : {0, 2}) {
    EXPECT_EQ(recorders[i].reason, FinishReason::kLength);
    EXPECT_EQ(recorders[i].tokens, tokens_alone(good, rig_.n_vocab()));
  }
  EXPECT_EQ(recorders[1].reason, FinishReason::kError);
  EXPECT_EQ(recorders[1].error, ErrorCode::kInternal);
  EXPECT_EQ(recorders[1].tokens, std::vector<TokenId>{TokenId{2}});
  EXPECT_EQ(n_counted(), 1u);
}

// One request of two runs, the other waits, when a step fails.
class FailedStep : public ::testing::Test {
 protected:
  void run_into_failure(bool is_lost) {
    for (Recorder* recorder : {&first_, &second_}) engine_.submit(std::move(*engine_.prepare(request_, *recorder)));
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(engine_.step().ok());
    rig_.backend().fail_step(is_lost);
    const Status status = engine_.step();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kInternal);
    EXPECT_EQ(first_.n_ends, 1);
    EXPECT_EQ(first_.reason, FinishReason::kError);
    EXPECT_EQ(first_.error, ErrorCode::kInternal);
    EXPECT_EQ(engine_.counters().is_device_lost, is_lost);
  }

  Rig rig_{{.max_seqs = 1, .max_batch_tokens = 16, .block_tokens = 4}};
  engine::Engine& engine_ = rig_.engine();
  const Request request_ = request_of(12, 20);
  Recorder first_, second_;
};

TEST_F(FailedStep, EndsItsRequestsAloneAndTrustsNoCache) {
  run_into_failure(false);
  EXPECT_EQ(second_.n_ends, 0);
  while (!engine_.is_idle()) ASSERT_TRUE(engine_.step().ok());
  EXPECT_EQ(second_.tokens, tokens_alone(request_, rig_.n_vocab()));
  EXPECT_FALSE(second_.error.has_value());
  EXPECT_EQ(engine_.counters().n_prefix_hits, 0u);
  EXPECT_TRUE(engine_.prefixes().blocks().is_consistent());
}

TEST_F(FailedStep, EndsWhatWaitsTooWhereTheDeviceIsLost) {
  run_into_failure(true);
  EXPECT_EQ(second_.n_ends, 1);
  EXPECT_EQ(second_.error, ErrorCode::kInternal);
  EXPECT_TRUE(engine_.is_idle());
}

TEST_F(FailedStep, LeavesNothingOfACallThatWaitedForAll) {
  rig_.backend().fail_step(false);
  const std::vector<Request> requests(3, request_);
  const auto generations = engine_.generate_all(requests);
  ASSERT_FALSE(generations.ok());
  EXPECT_EQ(generations.error().code, ErrorCode::kInternal);
  EXPECT_TRUE(engine_.is_idle());
  EXPECT_EQ(engine_.generate(request_, {}).value().tokens, tokens_alone(request_, rig_.n_vocab()));
}

TEST_F(FailedStep, IsAlsoOneInWhichSomethingThrows) {
  for (Recorder* recorder : {&first_, &second_}) engine_.submit(std::move(*engine_.prepare(request_, *recorder)));
  ASSERT_TRUE(engine_.step().ok());
  first_.throws = true;
  Status status;
  while (status.ok() && !engine_.is_idle()) status = engine_.step();
  EXPECT_EQ(status.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(first_.n_ends, 1);
  EXPECT_EQ(first_.error, ErrorCode::kResourceExhausted);
  while (!engine_.is_idle()) ASSERT_TRUE(engine_.step().ok());
  EXPECT_EQ(second_.tokens, tokens_alone(request_, rig_.n_vocab()));
  EXPECT_EQ(engine_.prefixes().blocks().n_free(), engine_.prefixes().blocks().n_blocks());
  EXPECT_TRUE(engine_.prefixes().blocks().is_consistent());
}

TEST_F(FailedStep, ACallbackThatThrowsGivesAnErrorAndTheEngineGoesOn) {
  const auto throwing = [](const TokenEvent&) -> bool { throw std::runtime_error("no more"); };
  const auto failed = engine_.generate(request_, throwing);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message, "no more");
  EXPECT_EQ(engine_.generate(request_, {}).value().tokens, tokens_alone(request_, rig_.n_vocab()));
}

TEST(Scheduling, ADeadlineEndsARequest) {
  Rig rig({.max_seqs = 1, .max_batch_tokens = 16});
  Request request;
  request.prompt = {TokenId{1}};
  request.max_tokens = 20;
  request.timeout_ms = 0;
  EXPECT_EQ(rig.engine().generate(request, {}).value().finish_reason, FinishReason::kDeadline);
}

// Steps until one tenant's four tokens are generated, with 60 earlier requests of another tenant.
uint32_t steps_beside_a_crowd(int32_t crowds_priority, engine::PriorityScope scope, uint32_t kv_tokens) {
  Rig rig({.max_seqs = 4,
           .max_batch_tokens = 32,
           .max_prefill_tokens = 8,
           .kv_tokens = kv_tokens,
           .block_tokens = 4,
           .priority_scope = scope});
  Request crowd = request_of(10, 30), other = request_of(10, 4);
  crowd.tenant = crowd.cache_salt = 1;
  crowd.priority = crowds_priority;
  other.tenant = other.cache_salt = 2;
  Recorder recorders[61];
  for (int i = 0; i < 60; ++i) rig.engine().submit(std::move(*rig.engine().prepare(crowd, recorders[i])));
  EXPECT_TRUE(rig.engine().step().ok());
  rig.engine().submit(std::move(*rig.engine().prepare(other, recorders[60])));
  uint32_t n_steps = 0;
  while (recorders[60].n_ends == 0 && n_steps < 10000) {
    EXPECT_TRUE(rig.engine().step().ok());
    ++n_steps;
  }
  EXPECT_EQ(recorders[60].tokens, tokens_alone(other, rig.n_vocab()));
  return n_steps;
}

// It waits for one running request to end, or without free blocks for one request's blocks, and never for the crowd.
TEST(Scheduling, NoTenantsPriorityDelaysAnother) {
  for (const uint32_t kv_tokens : {400u, 100u}) {
    const uint32_t n_steps = steps_beside_a_crowd(0, engine::PriorityScope::kTenant, kv_tokens);
    EXPECT_LE(n_steps, 45u) << kv_tokens;
    EXPECT_EQ(steps_beside_a_crowd(-1000, engine::PriorityScope::kTenant, kv_tokens), n_steps) << kv_tokens;
    EXPECT_EQ(steps_beside_a_crowd(1000, engine::PriorityScope::kTenant, kv_tokens), n_steps) << kv_tokens;
    EXPECT_GT(steps_beside_a_crowd(-1000, engine::PriorityScope::kAll, kv_tokens), 400u)
        << "where priority counts for all";
  }
}

// A window of 16 positions begins and ends in any row: with the rows of a step it spans this many blocks.
TEST(Scheduling, LayersWithAWindowHoldNoMoreThanItAndAStepNeed) {
  constexpr uint32_t kWindow = 16, kRows = 8, kBlockTokens = 4;
  const engine::EngineOptions options{.max_seqs = 1, .max_batch_tokens = kRows, .block_tokens = kBlockTokens};
  Rig alike(options), rig(options, false, Layers::kWindowed);
  const Request request = request_of(60, 30);
  Recorder recorder;
  rig.engine().submit(std::move(*rig.engine().prepare(request, recorder)));
  uint32_t most_held = 0;
  while (!rig.engine().is_idle()) {
    ASSERT_TRUE(rig.engine().step().ok());
    for (const engine::SequencePtr& sequence : rig.engine().running()) {
      for (const uint32_t group : {0u, 1u}) {
        most_held = std::max(most_held, static_cast<uint32_t>(sequence->cache.held(group).size()));
      }
      EXPECT_GE(sequence->cache.held(2).size() * kBlockTokens, sequence->n_computed());
    }
  }
  EXPECT_EQ(recorder.tokens, tokens_alone(request, rig.n_vocab(), false, Layers::kWindowed));
  EXPECT_LE(most_held, (kWindow + kRows) / kBlockTokens + 1);
  // A block has a third of the layers.
  EXPECT_EQ(alike.engine().prefixes().blocks().n_blocks(), kContext / kBlockTokens);
  EXPECT_EQ(rig.engine().prefixes().blocks().n_blocks(),
            kContext / kBlockTokens + 2 * ((kWindow + kRows) / kBlockTokens + 1));
}

TEST(Scheduling, PromptsThatShareAPrefixComputeItOnce) {
  for (const Layers layers : kAllLayers) {
    Rig rig({.max_seqs = 4, .max_batch_tokens = 16, .block_tokens = 8}, false, layers);
    std::vector<Request> requests(4);
    for (uint32_t i = 0; i < 4; ++i) {
      requests[i].prompt.assign(64, TokenId{2});
      requests[i].prompt.push_back(TokenId{static_cast<int32_t>(i)});
      requests[i].max_tokens = 3;
    }
    const auto generations = rig.engine().generate_all(requests).value();
    EXPECT_EQ(generations[0].stats.n_cached, 0u);
    for (uint32_t i = 1; i < 4; ++i) EXPECT_EQ(generations[i].stats.n_cached, 64u) << i;
    for (uint32_t i = 0; i < 4; ++i) {
      EXPECT_EQ(generations[i].tokens, tokens_alone(requests[i], rig.n_vocab(), false, layers));
    }
  }
}

}  // namespace
}  // namespace realizar
