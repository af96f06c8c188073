// Models with recurrent layers through the whole engine on the CPU: a request gives the same tokens by itself, among
// others, with a cached prefix, with speculative tokens, and after it was preempted.
#include <gtest/gtest.h>

#include "backend/cpu/cpu_backend.h"
#include "engine/prefixes.h"
#include "support/engine_rig.h"
#include "support/made_model.h"
#include "support/moved_pieces.h"
#include "support/test_data.h"

namespace realizar {
namespace {

constexpr uint32_t kLetters = 50;  // fewer than any of these models knows

class RecurrentServing : public testing::TestWithParam<const char*> {
 protected:
  test::EngineRig make(engine::EngineOptions options) const {
    options.n_ctx = 96;
    options.max_batch_tokens = 16;
    options.block_tokens = 16;
    auto backend = cpu::make_cpu_backend({.n_threads = 2});
    EXPECT_TRUE(backend.ok());
    return {file_, std::move(*backend), options};
  }
  std::vector<TokenId> alone(const Request& request) const {
    auto rig = make({.max_seqs = 1});
    return rig->generate(request, {}).value().tokens;
  }
  static std::vector<Request> some_requests(uint32_t n) {
    std::vector<Request> requests;
    for (uint32_t i = 0; i < n; ++i) {
      requests.push_back(test::request_for(test::some_tokens(35 + 5 * i, 7 + i, kLetters), i));
      requests.back().max_tokens = 24;
    }
    return requests;
  }

  const ModelFile file_ = std::move(*test::open_conformance(RZ_SOURCE_DIR "/tests/data/conformance", GetParam()));
};

INSTANTIATE_TEST_SUITE_P(Models, RecurrentServing,
                         testing::Values("mamba", "falcon-mamba", "mamba2", "granitehybrid", "nemotron-h-moe", "jamba",
                                         "falcon-h1", "lfm2", "qwen3next", "kimi-linear", "rwkv7"),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST_P(RecurrentServing, RequestsGiveTheSameTokensTogether) {
  const auto requests = some_requests(4);
  auto rig = make({.max_seqs = 4});
  const auto together = rig->generate_all(requests).value();
  for (size_t i = 0; i < requests.size(); ++i) EXPECT_EQ(together[i].tokens, alone(requests[i])) << i;
}

TEST_P(RecurrentServing, APrefixThatWasComputedBeforeGivesTheSameTokens) {
  const Request request = some_requests(4).back();
  auto rig = make({.max_seqs = 2});
  const auto first = rig->generate(request, {}).value(), again = rig->generate(request, {}).value();
  EXPECT_EQ(first.stats.n_cached, 0u);
  EXPECT_GT(again.stats.n_cached, 0u);
  EXPECT_EQ(first.tokens, alone(request));
  EXPECT_EQ(again.tokens, first.tokens);
  Request next = request;
  next.prompt.insert(next.prompt.end(), first.tokens.begin(), first.tokens.end());
  next.max_tokens = 8;
  const auto turn = rig->generate(next, {}).value();
  EXPECT_GT(turn.stats.n_cached, 0u);
  EXPECT_EQ(turn.tokens, alone(next));
}

TEST_P(RecurrentServing, APrefixThatIsMovedPieceByPieceGivesTheSameTokens) {
  const Request request = some_requests(4).back();
  auto first = make({.max_seqs = 1}), second = make({.max_seqs = 1});
  const auto expected = first->generate(request, {}).value();
  const uint32_t n_blocks = test::usable_blocks(first.engine(), request.prompt);
  EXPECT_EQ(n_blocks, 3u);
  EXPECT_GT(test::move_pieces(first.engine(), second.engine(), request.prompt, n_blocks), n_blocks);
  const auto warm = second->generate(request, {}).value();
  EXPECT_EQ(warm.stats.n_cached, n_blocks * 16);
  EXPECT_EQ(warm.tokens, expected.tokens);
  EXPECT_TRUE(second->prefixes().states()->is_consistent());
}

TEST_P(RecurrentServing, GuessesAndPreemptionsLeaveTheTokensAsTheyAre) {
  auto requests = some_requests(5);
  for (Request& request : requests) {
    // Few letters, so that some always repeat.
    for (int32_t id = 0; id < 4; ++id) request.sampling.logit_bias.emplace_back(TokenId{id}, 100.0f);
    request.prompt = test::some_tokens(static_cast<uint32_t>(request.prompt.size()), 1, 4);
  }
  auto rig = make({.max_seqs = 4, .kv_tokens = 128, .n_draft = 2});
  uint32_t n_drafted = 0;
  // On a busy machine a request may end before the next one arrives: then they are asked again.
  for (int n_rounds = 0; n_rounds < 50 && (n_drafted == 0 || rig->counters().n_preemptions == 0); ++n_rounds) {
    const auto together = rig->generate_all(requests).value();
    for (size_t i = 0; i < requests.size(); ++i) {
      EXPECT_EQ(together[i].tokens, alone(requests[i])) << i;
      n_drafted += together[i].stats.n_drafted;
    }
  }
  EXPECT_GT(n_drafted, 0u);
  EXPECT_GT(rig->counters().n_preemptions, 0u);
}

}  // namespace
}  // namespace realizar
