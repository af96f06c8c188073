// Requests for a model with recurrent layers: the prefixes that they find, the cost of speculative tokens, and how
// little they store.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "engine/prefixes.h"
#include "support/saved_text.h"
#include "support/schedule_rig.h"

namespace realizar {
namespace {

using namespace testing;

constexpr Layers kLayers = Layers::kAlikeAndRecurrent;

std::vector<TokenId> text_of(uint32_t n, int32_t n_letters = 5) {
  std::vector<TokenId> text;
  for (uint32_t i = 0; i < n; ++i) text.push_back(TokenId{static_cast<int32_t>(i * i) % n_letters});
  return text;
}

Request request_for(std::vector<TokenId> prompt, uint32_t max_tokens) {
  Request request;
  request.prompt = std::move(prompt);
  request.max_tokens = max_tokens;
  return request;
}

class StateScheduling : public ::testing::TestWithParam<bool> {
 protected:
  Rig make(engine::EngineOptions options) const {
    options.max_batch_tokens = 16;
    options.block_tokens = 4;
    return Rig(options, GetParam(), kLayers);
  }
  std::vector<TokenId> alone(const Request& request, const Rig& rig) const {
    return tokens_alone(request, rig.n_vocab(), GetParam(), kLayers);
  }
  Generation generate(Rig& rig, const Request& request) const {
    Generation generation = rig.engine().generate(request, {}).value();
    EXPECT_EQ(generation.tokens, alone(request, rig));
    return generation;
  }
};

INSTANTIATE_TEST_SUITE_P(Phases, StateScheduling, ::testing::Bool(),
                         [](const auto& tested) { return tested.param ? "Agree" : "Differ"; });

TEST_P(StateScheduling, APromptThatComesAgainLeavesItsLastBlockToCompute) {
  Rig rig = make({.max_seqs = 2});
  for (const uint32_t n_prompt : {30u, 32u, 33u}) {
    const Request request = request_for(text_of(n_prompt), 4);
    rig.engine().forget_prefixes();
    EXPECT_EQ(generate(rig, request).stats.n_cached, 0u);
    EXPECT_EQ(generate(rig, request).stats.n_cached, (n_prompt - 1) / 4 * 4);
  }
}

TEST_P(StateScheduling, TheNextTurnFindsTheAnswer) {
  Rig rig = make({.max_seqs = 2});
  const Request first = request_for(text_of(21), 30);
  generate(rig, first);
  while (rig.engine().has_idle_work()) ASSERT_TRUE(rig.engine().idle_step().ok());
  Request next = first;
  for (const TokenId id : alone(first, rig)) next.prompt.push_back(id);
  next.prompt.push_back(TokenId{0});
  EXPECT_EQ(generate(rig, next).stats.n_cached, 48u) << "of 51, the whole blocks";
  EXPECT_EQ(generate(rig, first).stats.n_cached, 20u) << "the first turn is found as it was";
}

TEST_P(StateScheduling, RequestsWithACommonBeginningComputeItOnce) {
  Rig rig = make({.max_seqs = 4});
  std::vector<Request> requests;
  for (int32_t i = 0; i < 4; ++i) {
    requests.push_back(request_for(text_of(50), 3));
    for (int32_t n = 0; n < 10; ++n) requests.back().prompt.push_back(TokenId{i});
  }
  const auto together = rig.engine().generate_all(requests).value();
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(together[i].tokens, alone(requests[i], rig)) << i;
    EXPECT_EQ(together[i].stats.n_cached, i == 0 ? 0u : 48u) << i;
  }
}

// The second request notices that it differs from the first, and leaves a state there.
TEST_P(StateScheduling, ABeginningThatComesAThirdTimeIsFound) {
  Rig rig = make({.max_seqs = 1, .kv_tokens = 300});
  for (int32_t i = 0; i < 4; ++i) {
    Request request = request_for(text_of(50), 3);
    for (int32_t n = 0; n < 10; ++n) request.prompt.push_back(TokenId{i});
    EXPECT_EQ(generate(rig, request).stats.n_cached, i < 2 ? 0u : 48u) << i;
  }
}

TEST_P(StateScheduling, GuessesThatAreWrongAreTakenBack) {
  Rig rig = make({.max_seqs = 3, .n_draft = 4});
  std::vector<Request> requests;
  for (uint64_t i = 0; i < 3; ++i) {
    requests.push_back(request_for(text_of(20 + 3 * static_cast<uint32_t>(i), 2), 60));
    requests.back().sampling.seed = i;
  }
  const auto together = rig.engine().generate_all(requests).value();
  uint32_t n_drafted = 0, n_accepted = 0;
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(together[i].tokens, alone(requests[i], rig)) << i;
    n_drafted += together[i].stats.n_drafted;
    n_accepted += together[i].stats.n_accepted;
  }
  EXPECT_GT(n_accepted, 0u);
  EXPECT_LT(n_accepted, n_drafted);
}

TEST_P(StateScheduling, AnotherModelsGuessesHelpWhereItHasStatesToo) {
  Rig rig = make({.max_seqs = 2, .n_draft = 3});
  rig.use_drafter({.max_seqs = 2, .max_rows = 34, .max_catch_up = 32, .kv_tokens = 200, .block_tokens = 4}, kLayers);
  Request request = request_for(text_of(20), 40);
  request.sampling.temperature = 0;
  const auto generation = generate(rig, request);
  // The drafter has the bits of decoding, and the same weights: if there is only decoding, it is right.
  EXPECT_GT(generation.stats.n_accepted, 0u);
}

TEST_P(StateScheduling, RequestsThatArePreemptedGiveTheSameTokens) {
  Rig rig = make({.max_seqs = 4, .kv_tokens = 100, .n_draft = 2});
  std::vector<Request> requests;
  for (uint32_t i = 0; i < 6; ++i) requests.push_back(request_for(text_of(20 + i), 40));
  const auto together = rig.engine().generate_all(requests).value();
  for (size_t i = 0; i < requests.size(); ++i) EXPECT_EQ(together[i].tokens, alone(requests[i], rig)) << i;
  EXPECT_GT(rig.engine().counters().n_preemptions, 0u);
  EXPECT_EQ(rig.engine().prefixes().states()->n_free(), rig.engine().prefixes().states()->n_blocks());
}

TEST_P(StateScheduling, AWipeLeavesNoState) {
  Rig rig = make({.max_seqs = 2, .n_kept_states = 3});
  const auto n_dirty = [&] {
    uint32_t n = 0;
    for (uint32_t slot = 0; slot < rig.engine().prefixes().states()->n_blocks(); ++slot) {
      uint64_t state = 0;
      rig.backend().read_state(StateId{slot}, std::as_writable_bytes(std::span(&state, 1)));
      n += state != 0 ? 1 : 0;
    }
    return n;
  };
  Request request = request_for(text_of(40), 10);
  request.tenant = 1;
  generate(rig, request);
  EXPECT_GT(n_dirty(), 0u);
  rig.engine().forget_prefixes(1);
  EXPECT_TRUE(rig.engine().wipe_some());
  EXPECT_EQ(n_dirty(), 0u);
  EXPECT_EQ(generate(rig, request).stats.n_cached, 0u);
}

TEST_P(StateScheduling, NoMoreStatesAreKeptThanAskedFor) {
  Rig rig = make({.max_seqs = 2, .n_kept_states = 3});
  EXPECT_EQ(rig.engine().prefixes().states()->n_blocks(), 3 + 2 * kv::kMaxStatesHeld);
  for (int32_t i = 0; i < 20; ++i) {
    auto prompt = text_of(20);
    prompt[0] = TokenId{i};
    generate(rig, request_for(prompt, 10));
  }
  EXPECT_EQ(rig.engine().prefixes().states()->n_free(), rig.engine().prefixes().states()->n_blocks());
}

TEST_P(StateScheduling, PrefixesInAFileHaveTheirStates) {
  const std::string path = ::testing::TempDir() + "state_scheduling_test." + std::to_string(::getpid());
  const Request request = request_for(text_of(50), 4);
  Rig first = make({.max_seqs = 1});
  generate(first, request);
  EXPECT_GT(first.engine().prefixes().save(path, 1, 1 << 20).value(), 0u);
  Rig second = make({.max_seqs = 1});
  EXPECT_GT(second.engine().prefixes().load(path, 1), 0u);
  EXPECT_EQ(generate(second, request).stats.n_cached, 48u);
  // The last state is damaged, and the next prefix with one is found.
  std::FILE* file = std::fopen(path.c_str(), "r+b");
  ASSERT_NE(file, nullptr);
  std::fseek(file, -1, SEEK_END);
  const int last = std::fgetc(file);
  std::fseek(file, -1, SEEK_END);
  std::fputc(last ^ 1, file);
  std::fclose(file);
  Rig third = make({.max_seqs = 1});
  EXPECT_GT(third.engine().prefixes().load(path, 1), 0u);
  EXPECT_EQ(third.engine().prefixes().states()->name_counts().n_named + 1,
            second.engine().prefixes().states()->name_counts().n_named);
  generate(third, request);
  // A file without room for them has none.
  EXPECT_TRUE(first.engine().prefixes().save(path, 1, 100).ok());
  Rig fourth = make({.max_seqs = 1});
  fourth.engine().prefixes().load(path, 1);
  EXPECT_EQ(generate(fourth, request).stats.n_cached, 0u);
  std::remove(path.c_str());
}

TEST_P(StateScheduling, OneTextInAFileHasItsState) {
  const std::string path = ::testing::TempDir() + "state_scheduling_test.text." + std::to_string(::getpid());
  const Request request = request_for(text_of(50), 4);
  Rig first = make({.max_seqs = 1}), second = make({.max_seqs = 1});
  generate(first, request);
  EXPECT_EQ(test::save_text(first.engine(), path, request.prompt).value(), 48u)
      << "whole blocks, with a state after them";
  ASSERT_TRUE(test::restore_text(second.engine(), path).ok());
  EXPECT_EQ(second.engine().prefixes().states()->name_counts().n_named, 1u);
  EXPECT_EQ(generate(second, request).stats.n_cached, 48u);
  std::remove(path.c_str());
}

// Without states in layers, none is stored, and nothing ends at other positions.
TEST(ModelsWithoutStates, KeepNone) {
  Rig rig({.max_seqs = 2, .max_batch_tokens = 16, .block_tokens = 4});
  EXPECT_EQ(rig.engine().prefixes().states(), nullptr);
  const Request request = request_for(text_of(30), 4);
  ASSERT_TRUE(rig.engine().generate(request, {}).ok());
  EXPECT_EQ(rig.engine().generate(request, {}).value().stats.n_cached, 29u);
}

}  // namespace
}  // namespace realizar
