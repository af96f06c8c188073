#include "engine/engine.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <optional>
#include <tuple>

#include "backend/cpu/cpu_backend.h"
#include "backend/kv_types.h"
#include "engine/cache_sizes.h"
#include "engine/model_drafter.h"
#include "engine/prefixes.h"
#include "engine/token_stream.h"
#include "formats/model_file.h"
#include "model/model.h"

namespace realizar::engine {
namespace {

constexpr const char* kModel = RZ_SOURCE_DIR "/models/realizar-tiny/realizar-tiny-Q8_0.gguf";

// A model and its engine, on the cpu backend.
class Rig {
 public:
  Rig(uint32_t n_threads, EngineOptions options, std::vector<TokenId> end_tokens = {}) {
    auto file = ModelFile::open(kModel);
    backend_ = std::move(*cpu::make_cpu_backend({.n_threads = n_threads}));
    EXPECT_TRUE(backend_->configure(limits_for(options)).ok());
    model_ = std::make_unique<Model>(std::move(*Model::load(*file, *backend_, {.n_ctx = options.n_ctx})));
    engine_ = std::move(*Engine::create(*model_, *backend_, std::move(end_tokens), options));
  }
  Engine& operator*() { return *engine_; }
  Engine* operator->() { return engine_.get(); }
  Backend& backend() { return *backend_; }

 private:
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Engine> engine_;
};

std::vector<TokenId> some_tokens(uint32_t n, uint32_t first = 3) {
  std::vector<TokenId> tokens;
  for (uint32_t i = 0; i < n; ++i) tokens.push_back(TokenId{static_cast<int32_t>((first + i * 37) % 2000)});
  return tokens;
}

Request request_for(std::vector<TokenId> prompt, uint32_t max_tokens) {
  Request request;
  request.prompt = std::move(prompt);
  request.sampling.temperature = 1.2f;
  request.sampling.seed = 11;
  request.max_tokens = max_tokens;
  return request;
}

TEST(Engine, ATokenDependsOnNothingButTheRequest) {
  const Request request = request_for(some_tokens(150), 40);
  const auto expected = Rig(1, {.n_ctx = 256})->generate(request, {}).value().tokens;
  ASSERT_EQ(expected.size(), 40u);
  for (const uint32_t n_threads : {1u, 2u, 3u, 5u}) {
    for (const uint32_t chunk : {1u, 7u, 64u, 512u}) {
      Rig rig(n_threads, {.n_ctx = 256, .max_batch_tokens = chunk});
      EXPECT_EQ(rig->generate(request, {}).value().tokens, expected) << n_threads << " threads, chunks of " << chunk;
    }
  }
}

TEST(Engine, RequestsOfABatchGiveTheTokensThatTheyGiveAlone) {
  std::vector<Request> requests;
  std::vector<std::vector<TokenId>> expected;
  Rig alone(1, {.n_ctx = 128});
  for (uint32_t i = 0; i < 64; ++i) {
    requests.push_back(request_for(some_tokens(1 + i * 29 % 70, i), 1 + i * 7 % 40));
    requests.back().sampling.seed = i;
    expected.push_back(alone->generate(requests.back(), {}).value().tokens);
  }
  for (const auto& [n_seqs, n_threads, chunk] :
       {std::tuple{2u, 2u, 512u}, {3u, 1u, 5u}, {5u, 8u, 64u}, {16u, 3u, 16u}, {33u, 2u, 100u}, {64u, 4u, 512u}}) {
    Rig rig(n_threads, {.n_ctx = 128, .max_seqs = n_seqs, .max_batch_tokens = chunk});
    const auto generations = rig->generate_all(std::span(requests).last(n_seqs));
    ASSERT_TRUE(generations.ok()) << generations.error().message;
    for (uint32_t i = 0; i < n_seqs; ++i) {
      EXPECT_EQ((*generations)[i].tokens, expected[64 - n_seqs + i]) << "request " << i << " of " << n_seqs;
    }
  }
}

TEST(Engine, AnErrorOfOneRequestEndsItAlone) {
  std::vector<Request> requests(7, request_for(some_tokens(3), 2));
  requests[1].prompt.clear();
  requests[4] = request_for(some_tokens(65), 2);
  Rig rig(1, {.n_ctx = 64, .max_seqs = 2});
  std::vector<std::optional<Result<Generation>>> ends(requests.size());
  std::vector<uint32_t> n_tokens(requests.size());
  rig->generate_each(
      requests, [&](size_t idx, const TokenEvent& event) { return n_tokens[idx]++ == event.index; },
      [&](size_t idx, Result<Generation> generation) { ends[idx] = std::move(generation); });
  const auto alone = rig->generate(requests[0], {}).value().tokens;
  for (size_t i = 0; i < requests.size(); ++i) {
    ASSERT_TRUE(ends[i].has_value()) << i;
    const bool is_wrong = i == 1 || i == 4;
    EXPECT_EQ(ends[i]->ok(), !is_wrong);
    EXPECT_EQ(n_tokens[i], is_wrong ? 0u : 2u);
    if (!is_wrong) {
      EXPECT_EQ((*ends[i])->tokens, alone);
    }
  }
  EXPECT_EQ(ends[4]->error().code, ErrorCode::kContextLengthExceeded);
  const auto all = rig->generate_all(requests);
  ASSERT_FALSE(all.ok());
  EXPECT_EQ(all.error().message, "prompt[1]: the prompt is empty");
}

TEST(Engine, TokensTellTheTimeThatTheyTook) {
  Rig rig(1, {.n_ctx = 64});
  std::vector<double> ms;
  const auto stats = rig->generate(request_for(some_tokens(10), 8),
                                   [&](const TokenEvent& event) {
                                     ms.push_back(event.ms);
                                     return true;
                                   })
                         .value()
                         .stats;
  ASSERT_EQ(ms.size(), 8u);
  EXPECT_EQ(ms[0], stats.first_token_ms);
  double decode_ms = 0;
  for (size_t i = 1; i < ms.size(); ++i) {
    EXPECT_GT(ms[i], 0);
    decode_ms += ms[i];
  }
  EXPECT_LE(decode_ms, stats.decode_ms);
}

TEST(Engine, RequestsBeyondItsPlacesWait) {
  Rig rig(1, {.n_ctx = 64, .max_seqs = 2});
  const std::vector<Request> requests(5, request_for(some_tokens(3), 2));
  const auto generations = rig->generate_all(requests).value();
  for (const Generation& generation : generations) EXPECT_EQ(generation.tokens, generations[0].tokens);
  EXPECT_EQ(generations[0].tokens.size(), 2u);
}

TEST(Engine, PublishesWhatItsStepsCost) {
  Rig rig(1, {.n_ctx = 64, .max_seqs = 2});
  std::vector<Request> requests;
  for (uint32_t i = 0; i < 6; ++i) requests.push_back(request_for(some_tokens(20, i), 10 + 5 * (i % 2)));
  ASSERT_TRUE(rig->generate_all(requests).ok());
  const StepCostGauges& costs = rig->counters().step_costs[StepBudget::kind_of(1)];
  EXPECT_GT(costs.decode_ms, 0);
  EXPECT_GT(costs.prompt_token_ms, 0) << "one decoded while the other's place was taken by a new prompt";
  EXPECT_EQ(rig->counters().step_costs[StepBudget::kind_of(3)].decode_ms, 0);
}

TEST(Engine, LogitsAreTheSameBytesHoweverThePromptIsCutAndComputed) {
  const auto tokens = some_tokens(100);
  const auto expected = Rig(1, {.n_ctx = 128})->logits(tokens, 90, 20).value();
  for (const auto& [n_threads, chunk] : {std::pair{1u, 1u}, {2u, 13u}, {4u, 90u}}) {
    const auto logits = Rig(n_threads, {.n_ctx = 128, .max_batch_tokens = chunk})->logits(tokens, 90, 20).value();
    ASSERT_EQ(logits.size(), expected.size());
    EXPECT_EQ(std::memcmp(logits.data(), expected.data(), logits.size() * sizeof(float)), 0) << chunk;
  }
}

// The first layer's keys and values depend only on the tokens, so they differ between types only by rounding.
TEST(Engine, TheCacheHoldsKeysAndValuesAsItsTypeRoundsThem) {
  const auto tokens = some_tokens(70);
  const auto kv_as = [&](KvType type) {
    KvNumbers kv;
    EXPECT_TRUE(Rig(1, {.n_ctx = 128, .kv_type = type})->logits(tokens, 60, 1, &kv).ok());
    return kv;
  };
  const KvNumbers exact = kv_as(KvType::kF32);
  constexpr uint32_t kLayers = 5, kHeads = 2, kHeadDim = 64;
  ASSERT_EQ(exact.keys.size(), kLayers * tokens.size() * kHeads * kHeadDim);
  ASSERT_EQ(exact.values.size(), exact.keys.size());
  for (const KvType type : {KvType::kF16, KvType::kBF16, KvType::kQ8_0, KvType::kF8, KvType::kQ4_0}) {
    const KvNumbers kv = kv_as(type);
    const TypeTraits& traits = kv_traits(type);
    std::vector<std::byte> stored(row_bytes(traits, kHeadDim));
    std::vector<float> rounded(kHeadDim);
    ASSERT_EQ(kv.keys.size(), exact.keys.size());
    for (size_t at = 0; at < tokens.size() * kHeads * kHeadDim; at += kHeadDim) {
      for (const auto& [all, from] : {std::pair(&kv.keys, &exact.keys), {&kv.values, &exact.values}}) {
        traits.encode(from->data() + at, stored.data(), kHeadDim);
        traits.decode(stored.data(), rounded.data(), kHeadDim);
        ASSERT_TRUE(std::equal(rounded.begin(), rounded.end(), all->begin() + static_cast<std::ptrdiff_t>(at)))
            << traits.name << " at " << at;
      }
    }
  }
}

TEST(Engine, ACachedPrefixGivesTheSameTokensAndSkipsItsPrefill) {
  Rig rig(2, {.n_ctx = 512});
  auto prompt = some_tokens(200);
  const Request first = request_for(prompt, 20);
  const auto cold = rig->generate(first, {}).value();
  EXPECT_EQ(cold.stats.n_cached, 0u);
  const auto warm = rig->generate(first, {}).value();
  EXPECT_EQ(warm.stats.n_cached, 199u);  // all but the last token, whose row gives the first generated one
  EXPECT_EQ(warm.tokens, cold.tokens);

  // Decoded tokens are recomputed as part of a prompt if decoding has its own arithmetic.
  const bool decode_matches_prefill = rig.backend().info().decode_matches_prefill;
  prompt.insert(prompt.end(), cold.tokens.begin(), cold.tokens.end());
  const auto more = some_tokens(30, 900);
  prompt.insert(prompt.end(), more.begin(), more.end());
  const Request second = request_for(prompt, 20);
  const auto continued = rig->generate(second, {}).value();
  EXPECT_EQ(continued.stats.n_cached, decode_matches_prefill ? 219u : 200u);
  rig->forget_prefixes();
  const auto fresh = rig->generate(second, {}).value();
  EXPECT_EQ(fresh.stats.n_cached, 0u);
  EXPECT_EQ(continued.tokens, fresh.tokens);
}

TEST(Engine, APromptThatIsSentAgainLeavesOneRowToCompute) {
  for (const uint32_t n_prompt : {1u, 2u, 6u, 31u, 32u, 33u, 63u, 64u, 65u}) {
    Rig rig(1, {.n_ctx = 128});
    const Request request = request_for(some_tokens(n_prompt), 10);
    const auto cold = rig->generate(request, {}).value();
    for (int i = 0; i < 2; ++i) {
      const auto warm = rig->generate(request, {}).value();
      EXPECT_EQ(warm.stats.n_cached, n_prompt - 1);
      EXPECT_EQ(warm.tokens, cold.tokens) << "a prompt of " << n_prompt;
    }
  }
}

// The first request's generated tokens follow its prompt in the block whose beginning the others share.
TEST(Engine, APromptsTailServesAllThatGoOnFromIt) {
  Rig rig(1, {.n_ctx = 128, .max_seqs = 4});
  const auto beginning = some_tokens(40);
  ASSERT_TRUE(rig->generate(request_for(beginning, 10), {}).ok());
  std::vector<Request> requests;
  for (uint32_t i = 0; i < 4; ++i) {
    auto prompt = beginning;
    for (const TokenId id : some_tokens(5 + 20 * i, 700 + i)) prompt.push_back(id);
    requests.push_back(request_for(prompt, 10));
  }
  const auto together = rig->generate_all(requests).value();
  for (uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(together[i].stats.n_cached, 40u);
    EXPECT_EQ(together[i].tokens, Rig(1, {.n_ctx = 128})->generate(requests[i], {}).value().tokens) << i;
  }
}

TEST(Engine, APromptThatOthersComputeIsComputedOnce) {
  Rig rig(1, {.n_ctx = 128, .max_seqs = 3, .max_batch_tokens = 16});
  const std::vector<Request> requests(3, request_for(some_tokens(70), 5));
  const auto together = rig->generate_all(requests).value();
  EXPECT_EQ(together[0].stats.n_cached, 0u);
  EXPECT_EQ(together[1].stats.n_cached, 69u);
  EXPECT_EQ(together[2].stats.n_cached, 69u);
  EXPECT_EQ(together[1].tokens, together[0].tokens);
}

TEST(Engine, AnAnswerIsPartOfTheNextTurnsPrefix) {
  const EngineOptions options{.n_ctx = 256};
  Rig rig(1, options);
  const bool decode_matches_prefill = rig.backend().info().decode_matches_prefill;
  std::vector<TokenId> text = some_tokens(70);
  uint32_t n_known = 0;  // cached tokens of the text
  for (int turn = 0; turn < 3; ++turn) {
    const Request request = request_for(text, 40);
    const auto warm = rig->generate(request, {}).value();
    EXPECT_EQ(warm.stats.n_cached, n_known) << turn;
    EXPECT_EQ(warm.tokens, Rig(2, options)->generate(request, {}).value().tokens) << turn;
    // The answer's last token has been chosen, but not computed.
    n_known = static_cast<uint32_t>(text.size() + (decode_matches_prefill ? warm.tokens.size() - 1 : 0));
    text.insert(text.end(), warm.tokens.begin(), warm.tokens.end());
    text.push_back(TokenId{7});
  }
  EXPECT_EQ(rig->generate(request_for(some_tokens(70), 1), {}).value().stats.n_cached, 69u)
      << "the first turn is found as it was";
}

TEST(Engine, AWipeLeavesNothingOfPromptsAndAnswers) {
  Rig rig(1, {.n_ctx = 128, .max_seqs = 2});
  const auto n_dirty = [&] {
    std::vector<std::byte> bytes(rig.backend().block_bytes());
    uint32_t n = 0;
    for (uint32_t id = 0; id < rig->prefixes().blocks().n_blocks(); ++id) {
      rig.backend().read_block(BlockId{id}, bytes);
      n += std::ranges::any_of(bytes, [](std::byte byte) { return byte != std::byte{0}; }) ? 1 : 0;
    }
    return n;
  };
  Request request = request_for(some_tokens(70), 30);
  request.tenant = 1;
  Request others = request_for(some_tokens(40, 900), 1);
  others.tenant = 2;
  ASSERT_TRUE(rig->generate_all(std::vector{request, others}).ok());
  EXPECT_EQ(n_dirty(), 6u) << "4 of the one, 2 of the other";
  rig->forget_prefixes(1);
  EXPECT_TRUE(rig->wipe_some());
  EXPECT_EQ(n_dirty(), 1u) << "the other's whole block";
  EXPECT_EQ(rig->generate(others, {}).value().stats.n_cached, 32u) << "which stays";
  EXPECT_EQ(rig->generate(request, {}).value().stats.n_cached, 0u);
  rig->forget_prefixes();
  EXPECT_TRUE(rig->wipe_some());
  EXPECT_EQ(n_dirty(), 0u);
}

TEST(Engine, PrefixesOutliveTheEngineInAFile) {
  const std::string path = ::testing::TempDir() + "engine_test.prefixes." + std::to_string(::getpid());
  const Request request = request_for(some_tokens(200), 20);
  Rig first(1, {.n_ctx = 256});
  EXPECT_EQ(first->prefixes().load(path, 1), 0u) << "there is no file yet";
  const auto expected = first->generate(request, {}).value();
  EXPECT_EQ(first->prefixes().save(path, 1, 1 << 30).value(), 7u);

  Rig second(2, {.n_ctx = 256});
  EXPECT_EQ(second->prefixes().load(path, 2), 0u) << "other weights";
  EXPECT_EQ(second->prefixes().load(path, 1), 7u);
  const auto warm = second->generate(request, {}).value();
  EXPECT_EQ(warm.stats.n_cached, 199u);
  EXPECT_EQ(warm.tokens, expected.tokens);

  // Damaged records, and those chained to them, are recomputed.
  std::FILE* file = std::fopen(path.c_str(), "r+b");
  ASSERT_NE(file, nullptr);
  std::fseek(file, -1, SEEK_END);
  const int last = std::fgetc(file);
  std::fseek(file, -1, SEEK_END);
  std::fputc(last ^ 1, file);
  std::fclose(file);
  Rig third(1, {.n_ctx = 256});
  EXPECT_EQ(third->prefixes().load(path, 1), 6u);
  EXPECT_EQ(third->generate(request, {}).value().tokens, expected.tokens);
  EXPECT_EQ(first->prefixes().save(path, 1, 1 << 10).value(), 0u) << "no room for a block";
  EXPECT_FALSE(first->prefixes().save("/nowhere/at/all", 1, 1 << 30).ok());
  std::remove(path.c_str());
}

TEST(Engine, BlocksComeBackAfterEveryRequest) {
  Rig rig(1, {.n_ctx = 64});
  for (uint32_t i = 0; i < 20; ++i) {
    const auto generation = rig->generate(request_for(some_tokens(40 + i % 20, i), 10), {});
    ASSERT_TRUE(generation.ok()) << i << ": " << generation.error().message;
  }
}

TEST(Engine, StopsWhereItIsTold) {
  Rig rig(1, {.n_ctx = 64});
  Request request = request_for(some_tokens(10), 8);
  request.sampling.temperature = 0;
  const auto all = rig->generate(request, {}).value();
  EXPECT_EQ(all.finish_reason, FinishReason::kLength);
  ASSERT_EQ(all.tokens.size(), 8u);

  request.stop_tokens = {all.tokens[3]};
  const auto stopped = rig->generate(request, {}).value();
  const auto first = std::find(all.tokens.begin(), all.tokens.end(), all.tokens[3]);
  EXPECT_EQ(stopped.tokens, std::vector<TokenId>(all.tokens.begin(), first));
  EXPECT_EQ(stopped.finish_reason, FinishReason::kStop);
  EXPECT_EQ(stopped.stop_token, all.tokens[3]);

  request.stop_tokens.clear();
  request.max_tokens = 0;
  EXPECT_TRUE(rig->generate(request, {}).value().tokens.empty());

  request.max_tokens.reset();
  const auto full = rig->generate(request, {}).value();
  EXPECT_EQ(full.finish_reason, FinishReason::kContext);
  EXPECT_EQ(full.tokens.size(), 64u - 10);

  int n_seen = 0;
  const auto cancelled = rig->generate(request,
                                       [&](const TokenEvent& event) {
                                         EXPECT_EQ(event.index, static_cast<uint32_t>(n_seen));
                                         return ++n_seen < 3;
                                       })
                             .value();
  EXPECT_EQ(cancelled.finish_reason, FinishReason::kCancelled);
  EXPECT_EQ(cancelled.tokens.size(), 3u);
}

// Its position is the first one beyond the context, and nothing is computed for it.
TEST(Engine, APromptOfTheWholeContextGivesOneToken) {
  Request request = request_for(some_tokens(64), 1);
  request.sampling.temperature = 0;
  const auto expected = Rig(1, {.n_ctx = 128})->generate(request, {}).value().tokens;
  ASSERT_EQ(expected.size(), 1u);
  Rig rig(2, {.n_ctx = 64, .max_seqs = 3, .max_batch_tokens = 24});
  for (const std::optional<uint32_t> max_tokens : {std::optional(1u), std::optional(9u), std::optional<uint32_t>()}) {
    request.max_tokens = max_tokens;
    const auto reason = max_tokens == 1 ? FinishReason::kLength : FinishReason::kContext;
    const std::vector<Request> requests(4, request);
    const auto generations = rig->generate_all(requests);
    ASSERT_TRUE(generations.ok()) << generations.error().message;
    for (const Generation& generation : *generations) {
      EXPECT_EQ(generation.tokens, expected);
      EXPECT_EQ(generation.finish_reason, reason);
    }
    EXPECT_EQ(capacity_for_all(request, 64), 2u);
  }
  request.max_tokens = 0;
  EXPECT_TRUE(rig->generate(request, {}).value().tokens.empty());
}

TEST(Engine, EndTokensStopUnlessIgnored) {
  Request request = request_for(some_tokens(10), 8);
  request.sampling.temperature = 0;
  const auto all = Rig(1, {.n_ctx = 64})->generate(request, {}).value();
  Rig rig(1, {.n_ctx = 64}, {all.tokens[0]});
  EXPECT_TRUE(rig->generate(request, {}).value().tokens.empty());
  request.ignore_eos = true;
  EXPECT_EQ(rig->generate(request, {}).value().tokens, all.tokens);
}

// Replaces every end by a token of `instead`, as long as there are some.
class Unending final : public TokenConstraint {
 public:
  explicit Unending(std::vector<TokenId> instead) : instead_(std::move(instead)) {}
  bool allow(std::span<uint64_t> allowed) override {
    if (!is_refusing_) return false;
    std::ranges::fill(allowed, uint64_t{0});
    const auto next = static_cast<size_t>(to_index(instead_.front()));
    allowed[next / 64] = uint64_t{1} << (next % 64);
    return true;
  }
  void accept(TokenId) override {
    if (is_refusing_) instead_.erase(instead_.begin());
    is_refusing_ = false;
  }
  bool refuse_end(TokenId) override { return is_refusing_ = !instead_.empty(); }
  std::shared_ptr<TokenConstraint> clone() const override { return std::make_shared<Unending>(*this); }

 private:
  std::vector<TokenId> instead_;
  bool is_refusing_ = false;
};

TEST(Engine, AnEndThatAConstraintRefusesGivesWayToAnotherToken) {
  Request request = request_for(some_tokens(10), 8);
  request.sampling.temperature = 0;
  const TokenId end = Rig(1, {.n_ctx = 64})->generate(request, {}).value().tokens[0];
  request.constraint = std::make_shared<Unending>(std::vector<TokenId>{TokenId{1234}});
  const auto begun = Rig(1, {.n_ctx = 64}, {end})->generate(request, {}).value();
  ASSERT_FALSE(begun.tokens.empty());
  EXPECT_EQ(begun.tokens[0], TokenId{1234});
  // A token that is usually an end belongs to the text if the constraint wants it.
  request.max_tokens = 1;
  request.constraint = std::make_shared<Unending>(std::vector<TokenId>{end});
  const auto cut = Rig(1, {.n_ctx = 64}, {end})->generate(request, {}).value();
  EXPECT_EQ(cut.tokens, std::vector<TokenId>{end});
  EXPECT_EQ(cut.finish_reason, FinishReason::kLength);
}

TEST(Engine, RefusesBadRequestsByName) {
  Rig rig(1, {.n_ctx = 32});
  const auto error_of = [&](const Request& request) { return rig->generate(request, {}).error(); };
  EXPECT_EQ(error_of(request_for({}, 1)).code, ErrorCode::kInvalidArgument);
  const Error too_long = error_of(request_for(some_tokens(33), 1));
  EXPECT_EQ(too_long.code, ErrorCode::kContextLengthExceeded);
  EXPECT_NE(too_long.message.find("33"), std::string::npos);
  EXPECT_NE(too_long.message.find("32"), std::string::npos);
  EXPECT_EQ(too_long.n_prompt, 33u);
  EXPECT_EQ(too_long.n_ctx, 32u);
  EXPECT_EQ(error_of(request_for({TokenId{2048}}, 1)).code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(error_of(request_for({TokenId{-1}}, 1)).code, ErrorCode::kInvalidArgument);
  Request request = request_for(some_tokens(3), 1);
  request.sampling.top_p = 2;
  EXPECT_EQ(error_of(request).subject, "top_p");
  EXPECT_EQ(rig->logits(some_tokens(5), 6, 1).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(rig->logits(some_tokens(5), 5, 0).error().code, ErrorCode::kInvalidArgument);
}

TEST(Engine, APromptsLogprobsAreThoseOfItsLogits) {
  const auto tokens = some_tokens(90);
  const auto logits = Rig(1, {.n_ctx = 128})->logits(tokens, 90, 90).value();
  const size_t n_vocab = logits.size() / tokens.size();
  Request request = request_for(tokens, 0);
  request.logprobs = request.prompt_logprobs = true;
  const Sampler sampler(static_cast<uint32_t>(n_vocab));
  for (const uint32_t chunk : {512u, 7u}) {
    uint32_t next = 1;
    ASSERT_TRUE(
        Rig(1, {.n_ctx = 128, .max_batch_tokens = chunk})
            ->generate(request,
                       [&](const TokenEvent& event) {
                         EXPECT_TRUE(event.is_prompt);
                         EXPECT_EQ(event.index, next);
                         EXPECT_EQ(event.id, tokens[next]);
                         EXPECT_EQ(event.logprob,
                                   sampler.logprob(std::span(logits).subspan((next - 1) * n_vocab, n_vocab), event.id));
                         ++next;
                         return true;
                       })
            .ok());
    EXPECT_EQ(next, 90u);
  }
}

TEST(Engine, APooledPromptGivesOneVectorHoweverItIsCut) {
  Request request = request_for(some_tokens(90), 0);
  for (const Pooling pooling : {Pooling::kLast, Pooling::kMean}) {
    request.pooling = pooling;
    const auto whole = Rig(1, {.n_ctx = 128})->generate(request, {}).value();
    ASSERT_FALSE(whole.embedding.empty());
    double square_sum = 0;
    for (const float x : whole.embedding) square_sum += double{x} * x;
    EXPECT_NEAR(square_sum, 1, 1e-5);
    EXPECT_TRUE(whole.tokens.empty());
    Rig cut(2, {.n_ctx = 128, .max_batch_tokens = 7});
    EXPECT_EQ(cut->generate(request, {}).value().embedding, whole.embedding);
    EXPECT_EQ(cut->generate(request, {}).value().embedding, whole.embedding) << "again, with a cache";
  }
}

TEST(Engine, APromptMayGiveTheStatesOfAllItsTokens) {
  Request request = request_for(some_tokens(90), 0);
  request.pooling = Pooling::kLast;
  const auto last = Rig(1, {.n_ctx = 128})->generate(request, {}).value().embedding;
  request.pooling = Pooling::kAll;
  const auto all = Rig(1, {.n_ctx = 128})->generate(request, {}).value().embedding;
  ASSERT_EQ(all.size(), 90 * last.size());
  double square_sum = 0;
  const auto own = std::span(all).last(last.size());
  for (const float x : own) square_sum += double{x} * x;
  for (size_t i = 0; i < last.size(); ++i) EXPECT_NEAR(last[i], own[i] / std::sqrt(square_sum), 1e-5);
  EXPECT_EQ(Rig(2, {.n_ctx = 128, .max_batch_tokens = 7})->generate(request, {}).value().embedding, all);
}

TEST(Engine, LogprobsBelongToTheGreedyChoice) {
  Rig rig(1, {.n_ctx = 64});
  Request request = request_for(some_tokens(10), 5);
  request.sampling.temperature = 0;
  request.logprobs = true;
  request.n_logprobs = 3;
  ASSERT_TRUE(rig->generate(request,
                            [](const TokenEvent& event) {
                              EXPECT_EQ(event.top.size(), 3u);
                              EXPECT_EQ(event.top[0].id, event.id);
                              EXPECT_EQ(event.top[0].logprob, event.logprob);
                              EXPECT_GE(event.top[0].logprob, event.top[1].logprob);
                              return true;
                            })
                  .ok());
}

TEST(Engine, ARequestThatWantsATraceHasItsOwnStepsAndNoOtherHasAny) {
  Rig rig(2, {.n_ctx = 64, .max_seqs = 2});
  Request traced = request_for(some_tokens(9), 3);
  traced.ignore_eos = traced.trace = true;
  Request other = request_for(some_tokens(5, 500), 6);
  other.ignore_eos = true;
  const std::vector<TokenId> alone = Rig(2, {.n_ctx = 64})->generate(other, {}).value().tokens;
  const std::vector<Request> requests = {traced, other};
  const auto generations = rig->generate_all(requests).value();
  EXPECT_EQ(generations[1].tokens, alone);
  EXPECT_FALSE(generations[1].trace);
  ASSERT_TRUE(generations[0].trace);
  const Trace& trace = *generations[0].trace;
  // The other request decodes in the same steps.
  EXPECT_EQ(trace.prefill.n_steps, 1u);
  EXPECT_EQ(trace.prefill.n_tokens, 14u);
  EXPECT_EQ(trace.decode.n_steps, 2u);
  EXPECT_EQ(trace.decode.n_tokens, 4u);
  for (const bool decode : {false, true}) {
    double total_ms = 0;
    for (const TraceRow& row : trace.rows) total_ms += row.decode == decode ? row.total_ms : 0;
    EXPECT_NEAR(total_ms, (decode ? trace.decode : trace.prefill).total_ms, 1e-6);
    EXPECT_GT(total_ms, 0);
  }
}

}  // namespace
}  // namespace realizar::engine
