// A decode step allocates nothing: operator new is counted over 100 steps.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "api/loaded_model.h"
#include "engine/block_events.h"
#include "engine/engine.h"
#include "engine/engine_thread.h"
#include "grammar/matcher.h"
#include "realizar/engine.h"
#include "server/http/json.h"
#include "support/counted_new.h"
#include "support/made_adapter.h"

namespace realizar {
namespace {

constexpr const char* kModel = RZ_SOURCE_DIR "/models/realizar-tiny/realizar-tiny-Q8_0.gguf";

// Allocations between the 10th and the 110th token.
long allocations_while_decoding(const SamplingParams& sampling, uint32_t n_logprobs, LoadOptions options = {}) {
  options.cpu.n_threads = 2;
  auto model = LanguageModel::load(kModel, options);
  EXPECT_TRUE(model.ok());
  Request request;
  request.prompt = model->tokenize("In the beginning").value();
  request.sampling = sampling;
  request.max_tokens = 120;
  request.ignore_eos = true;
  request.n_logprobs = n_logprobs;
  request.logprobs = n_logprobs > 0;
  long at_10 = 0, at_110 = 0;
  const auto generation = model->generate(request, [&](const TokenEvent& event) {
    if (event.index == 10) at_10 = test::n_allocations();
    if (event.index == 110) at_110 = test::n_allocations();
    return true;
  });
  EXPECT_TRUE(generation.ok());
  EXPECT_GT(at_10, 0);
  EXPECT_GT(at_110, 0);
  return at_110 - at_10;
}

// When memory has run out, a parsed body must still be destroyed.
TEST(Allocation, AParsedBodyIsTakenApartWithoutMemory) {
  std::string text = R"({"deep":)" + std::string(90, '[') + std::string(90, ']') + R"(,"messages":[)";
  for (int i = 0; i < 1000; ++i) text += R"({"role":"user","content":["a text that no short string holds",{}]},)";
  auto parsed = server::parse_json(text + "{}]}");
  ASSERT_TRUE(parsed.ok());
  const long before = test::n_allocations();
  {
    server::Json body = std::move(*parsed);
    const server::TakenApartAtEnd end{body};
  }
  EXPECT_EQ(test::n_allocations(), before);
}

// Through a stream, like a server's tokens: from the engine's ring to its reader, by way of the queue of streams with
// updates.
TEST(Allocation, AServersTokensOnTheirWayAllocateNothing) {
  LoadOptions options;
  options.cpu.n_threads = 1;
  const auto loaded = LoadedModel::load(kModel, options);
  ASSERT_TRUE(loaded.ok());
  Request request;
  request.prompt = (*loaded)->tokenizer->encode("In the beginning", {true, false});
  request.max_tokens = 120;
  request.ignore_eos = request.logprobs = true;
  request.n_logprobs = 3;
  // The engine waits for its reader, so that the end of the request is after the counted steps.
  std::atomic<uint32_t> n_told{0}, n_taken{0};
  engine::EngineThread thread(*(*loaded)->engine, 4, [&] {
    const uint32_t n = n_told.fetch_add(1, std::memory_order_release) + 1;
    n_told.notify_one();
    for (uint32_t taken = n_taken; taken < n; taken = n_taken) n_taken.wait(taken);
  });
  const auto stream = std::make_shared<engine::TokenStream>(std::move(request));
  ASSERT_TRUE(thread.submit(stream).ok());
  long at_10 = 0, at_110 = 0;
  for (uint32_t n_seen = 0; stream->end() == nullptr;) {
    n_told.wait(n_seen, std::memory_order_acquire);
    n_seen = n_told.load(std::memory_order_acquire);
    while (const auto ready = thread.next_ready()) {
      while (const auto token = ready->pop()) {
        if (token->index == 10) at_10 = test::n_allocations();
        if (token->index == 110) at_110 = test::n_allocations();
      }
    }
    n_taken = n_seen;
    n_taken.notify_one();
  }
  n_taken = UINT32_MAX;
  n_taken.notify_one();
  EXPECT_GT(at_10, 0);
  EXPECT_EQ(at_110, at_10);
}

// Names of blocks being published, also when the ring is full.
TEST(Allocation, NewsOfBlocksAllocateNothing) {
  constexpr uint32_t kBlockTokens = 4, kCapacity = 64;
  kv::BlockPool pool(8, kBlockTokens, {1, 2});
  engine::BlockEvents events(pool, kCapacity);
  events.begin();
  const long before = test::n_allocations();
  for (int i = 0; i < 2 * static_cast<int>(kCapacity); ++i) {
    const BlockId block = *pool.allocate();
    const std::array<TokenId, kBlockTokens> tokens{TokenId{i}, TokenId{1}, TokenId{2}, TokenId{3}};
    uint64_t hash = pool.root_hash(0);
    pool.name_blocks({&block, 1}, tokens, 0, hash);
    pool.release(block);
    if (i % 2 == 0 && events.front() != nullptr) events.pop();
  }
  EXPECT_EQ(test::n_allocations(), before);
  EXPECT_TRUE(events.take_wish()) << "the ring was full";
}

// A request's constraint with a grammar, without the texts around one.
class GrammarConstraint final : public TokenConstraint {
 public:
  explicit GrammarConstraint(std::shared_ptr<grammar::MaskCache> cache) : matcher_(std::move(cache)) {}

  bool allow(std::span<uint64_t> allowed) override {
    matcher_.fill_mask(allowed);
    return true;
  }
  void accept(TokenId id) override { static_cast<void>(matcher_.accept(id)); }
  std::shared_ptr<TokenConstraint> clone() const override { return std::make_shared<GrammarConstraint>(*this); }

 private:
  grammar::Matcher matcher_;
};

// States of the grammar are computed when first reached; known ones cost nothing.
TEST(Allocation, AConstraintAllocatesNothingAtStatesThatWereMetBefore) {
  LoadOptions options;
  options.cpu.n_threads = 1;
  const auto loaded = LoadedModel::load(kModel, options);
  ASSERT_TRUE(loaded.ok());
  std::vector<std::string> bytes;
  for (int32_t id = 0; id < (*loaded)->tokenizer->n_vocab(); ++id) {
    bytes.push_back((*loaded)->tokenizer->token_bytes(TokenId{id}));
  }
  const auto grammar = grammar::Grammar::from_gbnf("root ::= [a-z]+ (\" \" [a-z]+)*");
  ASSERT_TRUE(grammar.ok()) << grammar.error().message;
  const auto cache = std::make_shared<grammar::MaskCache>(*grammar, std::make_shared<grammar::TokenTrie>(bytes));
  Request request;
  request.prompt = (*loaded)->tokenizer->encode("In the beginning", {true, false});
  request.max_tokens = 120;
  request.ignore_eos = true;
  std::vector<TokenId> first;
  for (int i = 0; i < 2; ++i) {
    request.constraint = std::make_shared<GrammarConstraint>(cache);
    long at_10 = 0, at_110 = 0;
    const auto generation = (*loaded)->engine->generate(request, [&](const TokenEvent& event) {
      if (event.index == 10) at_10 = test::n_allocations();
      if (event.index == 110) at_110 = test::n_allocations();
      return true;
    });
    ASSERT_TRUE(generation.ok());
    ASSERT_EQ(generation->tokens.size(), 120u);
    if (i == 0) first = generation->tokens;
    EXPECT_EQ(generation->tokens, first);
    if (i > 0) {
      EXPECT_EQ(at_110, at_10);
    }
  }
}

TEST(Allocation, GreedyDecodingAllocatesNothing) {
  SamplingParams greedy;
  greedy.temperature = 0;
  EXPECT_EQ(allocations_while_decoding(greedy, 0), 0);
}

TEST(Allocation, GuessingAllocatesNothing) {
  SamplingParams greedy;
  greedy.temperature = 0;
  LoadOptions from_text, from_model, always_from_model;
  from_text.draft.n_tokens = 3;
  from_model.draft.path = always_from_model.draft.path = kModel;
  always_from_model.draft.n_tokens = 4;
  EXPECT_EQ(allocations_while_decoding(greedy, 0, from_text), 0);
  EXPECT_EQ(allocations_while_decoding(greedy, 0, from_model), 0);
  EXPECT_EQ(allocations_while_decoding(greedy, 0, always_from_model), 0);
}

TEST(Allocation, DecodingWithAnAdapterAllocatesNothing) {
  test::MadeAdapter made;
  for (const uint32_t layer : {0u, 3u}) {
    const std::string at = "blk." + std::to_string(layer);
    made[at + ".attn_q"] = test::random_pair(16, 256, 256, layer);
    made[at + ".ffn_down"] = test::random_pair(5, 256, 768, layer + 1);
  }
  const std::string path = testing::TempDir() + "allocation_test.lora." + std::to_string(::getpid()) + ".gguf";
  ASSERT_TRUE(test::gguf_adapter(made, "llama", 8).write(path).ok());
  SamplingParams greedy;
  greedy.temperature = 0;
  LoadOptions options;
  options.adapters.sources = {{"a", path}};
  options.adapters.default_name = "a";
  EXPECT_EQ(allocations_while_decoding(greedy, 0, options), 0);
  std::filesystem::remove(path);
}

TEST(Allocation, TheWholeSamplerChainAllocatesNothing) {
  SamplingParams all;
  all.temperature = 0.9f;
  all.top_k = 0;
  all.typical_p = 0.9f;
  all.top_p = 0.9f;
  all.min_p = 0.01f;
  all.repeat_penalty = 1.1f;
  all.frequency_penalty = 0.1f;
  all.logit_bias = {{TokenId{5}, 1.0f}};
  EXPECT_EQ(allocations_while_decoding(all, 5), 0);
  all.dynatemp_range = 0.3f;
  all.top_n_sigma = 2;
  all.xtc_probability = 0.5f;
  all.dry_multiplier = 0.8f;
  EXPECT_EQ(allocations_while_decoding(all, 5), 0);
  for (all.mirostat = 1; all.mirostat <= 2; ++all.mirostat) EXPECT_EQ(allocations_while_decoding(all, 0), 0);
}

}  // namespace
}  // namespace realizar
