// The fleet simulation: its routers obey their rules, its servers match the engine, and no request is lost.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <string>

#include "../bench/fleet/fleet.h"
#include "backend/cpu/cpu_backend.h"
#include "engine/cache_sizes.h"
#include "engine/engine.h"
#include "formats/model_file.h"
#include "model/model.h"

namespace realizar::fleet {
namespace {

constexpr const char* kModel = RZ_SOURCE_DIR "/models/realizar-tiny/realizar-tiny-Q8_0.gguf";
constexpr uint32_t kBlockTokens = 16;
constexpr kv::HashKey kKey = {3, 4};

WorkloadOptions short_texts(uint64_t seed, double requests_per_s = 2) {
  return {.seed = seed, .requests_per_s = requests_per_s, .n_tenants = 4, .has_short_texts = true, .n_ctx = 1024};
}

// Three small servers, whose caches are too small for their prompts.
FleetOptions small_fleet(Policy policy) {
  FleetOptions options;
  options.server.engine = {.n_ctx = 1024, .max_seqs = 4, .max_batch_tokens = 128, .kv_tokens = 4096};
  options.server.engine.block_tokens = kBlockTokens;
  options.server.times = {{{1, 5}, {4, 8}}, 2, 0.2};
  options.server.n_vocab = 4000;
  options.router.policy = policy;
  options.router.n_servers = 3;
  options.end_s = 60;
  return options;
}

FleetResult simulated(const FleetOptions& options, uint64_t seed) {
  GeneratedWorkload workload(short_texts(seed));
  auto result = simulate(options, workload);
  EXPECT_TRUE(result.ok()) << result.error().message;
  return *result;
}

Call call_of(std::vector<TokenId> prompt, uint64_t conversation = 0) {
  Call call;
  call.request.prompt = std::move(prompt);
  call.conversation = conversation;
  return call;
}

std::vector<TokenId> tokens_from(int32_t first, uint32_t n) {
  std::vector<TokenId> tokens;
  for (uint32_t i = 0; i < n; ++i) tokens.push_back(TokenId{first + static_cast<int32_t>(i)});
  return tokens;
}

// Names of the whole blocks of a text.
std::vector<uint64_t> names_of(std::span<const TokenId> tokens, uint64_t salt = 0) {
  const kv::BlockPool pool(1, kBlockTokens, kKey);
  std::vector<uint64_t> names;
  uint64_t hash = pool.root_hash(salt);
  for (size_t i = 0; i + kBlockTokens <= tokens.size(); i += kBlockTokens) {
    names.push_back(hash = pool.hash_after(hash, tokens.subspan(i, kBlockTokens)));
  }
  return names;
}

TEST(HashRing, AServerThatIsAddedTakesItsShareOfTheKeysAndNoOtherMoves) {
  constexpr uint32_t kKeys = 20000;
  std::mt19937_64 random(1);
  std::vector<uint64_t> keys(kKeys);
  std::ranges::generate(keys, random);
  for (const uint32_t n_servers : {1u, 3u, 10u, 100u}) {
    const HashRing before(n_servers, 160), after(n_servers + 1, 160);
    uint32_t n_moved = 0;
    for (const uint64_t key : keys) {
      const auto any = [](uint32_t) { return true; };
      const uint32_t was = before.pick(key, any), is = after.pick(key, any);
      if (was == is) continue;
      ++n_moved;
      ASSERT_EQ(is, n_servers) << "a key moves to the new server alone";
    }
    const double share = double{1} * n_moved / kKeys, fair = 1.0 / (n_servers + 1);
    EXPECT_GT(share, 0.7 * fair) << n_servers;
    EXPECT_LT(share, 1.4 * fair) << n_servers;
  }
}

TEST(BoundedHash, NoServerEverHasMoreThanItsShareTimesTheFactor) {
  std::mt19937 random(7);
  for (const uint32_t n_servers : {1u, 2u, 3u, 10u}) {
    for (const uint32_t factor : {100u, 125u, 150u, 300u}) {
      const auto router =
          make_router({.policy = Policy::kConversation, .n_servers = n_servers, .balance_factor = factor});
      std::vector<uint32_t> n_open(n_servers);
      std::vector<Call> open;
      for (uint32_t i = 0; i < 3000; ++i) {
        const bool ends = !open.empty() && random() % 100 < open.size();
        if (ends) {
          std::swap(open[random() % open.size()], open.back());
          router->on_ended(open.back());
          --n_open[open.back().server];
          open.pop_back();
          continue;
        }
        Call call = call_of(tokens_from(1, 20), random() % 5);  // few conversations, so that their servers fill
        call.server = router->pick(call);
        router->on_sent(call);
        open.push_back(call);
        const double mean = static_cast<double>(open.size()) / n_servers;
        ASSERT_LT(++n_open[call.server], factor / 100.0 * mean + 1) << n_servers << " servers, " << factor;
      }
    }
  }
}

TEST(BoundedHash, AConversationStaysWhereThereIsRoom) {
  const auto router = make_router({.policy = Policy::kConversation, .n_servers = 10});
  for (uint64_t conversation = 0; conversation < 50; ++conversation) {
    const uint32_t first = router->pick(call_of(tokens_from(1, 20), conversation));
    EXPECT_EQ(router->pick(call_of(tokens_from(7, 90), conversation)), first);
  }
}

TEST(PromptHash, PromptsThatBeginAlikeGoToOneServer) {
  const auto router = make_router({.policy = Policy::kPrompt, .n_servers = 10, .n_hashed_tokens = 64});
  std::set<uint32_t> servers;
  for (int32_t text = 0; text < 20; ++text) {
    auto prompt = tokens_from(100 * text, 64), other = prompt;
    prompt.push_back(TokenId{1});
    other.insert(other.end(), {TokenId{2}, TokenId{3}});
    servers.insert(router->pick(call_of(prompt)));
    EXPECT_EQ(router->pick(call_of(prompt)), router->pick(call_of(other)));
  }
  EXPECT_GT(servers.size(), 3u);
}

TEST(LeastOpen, PicksAServerWithTheFewest) {
  const auto router = make_router({.policy = Policy::kLeastOpen, .n_servers = 3});
  std::vector<Call> calls(3, call_of(tokens_from(1, 4)));
  std::set<uint32_t> servers;
  for (Call& call : calls) {
    call.server = router->pick(call);
    router->on_sent(call);
    servers.insert(call.server);
  }
  EXPECT_EQ(servers.size(), 3u);
  router->on_ended(calls[1]);
  EXPECT_EQ(router->pick(call_of(tokens_from(1, 4))), calls[1].server);
}

// Compared with a linear search of lists.
TEST(BlockIndex, FindsHowMuchOfATextEachServerHolds) {
  std::mt19937 random(3);
  constexpr uint32_t kServers = 5;
  const std::vector<uint64_t> text = names_of(tokens_from(0, 6 * kBlockTokens));
  BlockIndex index;
  std::array<std::set<uint64_t>, kServers> held;
  for (uint32_t i = 0; i < 2000; ++i) {
    const uint32_t server = random() % kServers;
    const uint64_t hash = text[random() % text.size()];
    const bool is_stored = random() % 3 > 0;
    index.take(server, {hash, is_stored});
    is_stored ? void(held[server].insert(hash)) : void(held[server].erase(hash));
    std::vector<uint32_t> found(kServers), expected(kServers);
    index.match(text, found);
    for (uint32_t s = 0; s < kServers; ++s) {
      while (expected[s] < text.size() && held[s].contains(text[expected[s]])) ++expected[s];
    }
    ASSERT_EQ(found, expected);
  }
  for (uint32_t server = 0; server < kServers; ++server) {
    for (const uint64_t hash : text) index.take(server, {hash, false});
  }
  EXPECT_EQ(index.n_blocks(), 0u);
}

TEST(KvRouter, PicksTheServerThatHoldsTheTextUntilItHasTooMuchToDo) {
  const auto router = make_router(
      {.policy = Policy::kKvEvents, .n_servers = 4, .overlap_weight = 1.5, .block_tokens = kBlockTokens, .key = kKey});
  const auto text = tokens_from(0, 10 * kBlockTokens);
  for (const uint64_t hash : names_of(text)) router->on_event(2, {hash, true});
  const auto send = [&](Call& call, std::optional<uint32_t> server = std::nullopt) {
    const uint32_t picked = router->pick(call);
    call.server = server.value_or(picked);
    router->on_sent(call);
    return picked;
  };
  std::vector<Call> alike(3, call_of(text));
  for (Call& call : alike) EXPECT_EQ(send(call), 2u) << "blocks that they share are decoded with once";
  Call large = call_of(tokens_from(5000, 26 * kBlockTokens));
  send(large, 2);
  EXPECT_NE(router->pick(call_of(text)), 2u) << "a long prompt is computed there";
  router->on_first_token(large);
  EXPECT_NE(router->pick(call_of(text)), 2u) << "26 blocks more, where the text itself costs 10 and 1.5 times 10";
  router->on_ended(large);
  for (const Call& call : alike) router->on_ended(call);
  EXPECT_EQ(router->pick(call_of(text)), 2u);
  const auto other_salt = [&] {
    Call call = call_of(text);
    call.request.cache_salt = 1;
    return call;
  }();
  for (const uint64_t hash : names_of(text, 1)) router->on_event(1, {hash, true});
  EXPECT_EQ(router->pick(other_salt), 1u);
}

TEST(StepTimes, AreThoseMeasuredAndLieBetween) {
  const StepTimes times{{{2, 10}, {4, 20}, {8, 60}}, 30, 0.5};
  EXPECT_EQ(times.ms({}), 0);
  EXPECT_EQ(times.ms({.n_decode_rows = 1}), 10);
  EXPECT_EQ(times.ms({.n_decode_rows = 2}), 10);
  EXPECT_EQ(times.ms({.n_decode_rows = 3}), 15);
  EXPECT_EQ(times.ms({.n_decode_rows = 8}), 60);
  EXPECT_EQ(times.ms({.n_decode_rows = 10}), 80);
  EXPECT_EQ(times.ms({.n_decode_rows = 4, .n_prompt_tokens = 100}), 20 + 30 + 50);
  EXPECT_EQ(times.ms({.n_prompt_tokens = 1}), 30.5);
}

TEST(Server, ItsEventsTellWhatItsCacheHolds) {
  for (const bool decode_matches_prefill : {true, false}) {
    FleetOptions fleet = small_fleet(Policy::kRoundRobin);
    fleet.server.engine.kv_tokens = 1024;  // one context: blocks are evicted, and requests preempted
    fleet.server.decode_matches_prefill = decode_matches_prefill;
    Server server(fleet.server, kKey);
    GeneratedWorkload workload(short_texts(5));
    const auto conversations = take_requests(workload, 120);
    FleetClock clock;
    std::vector<std::unique_ptr<Call>> calls;
    std::set<uint64_t> held;
    size_t n_stored = 0, n_removed = 0;
    const auto hear = [&] {
      for (const KvEvent& event : server.events()) {
        ASSERT_EQ(held.contains(event.hash), !event.is_stored) << "stored once, removed once";
        event.is_stored ? void(held.insert(event.hash)) : void(held.erase(event.hash));
        ++(event.is_stored ? n_stored : n_removed);
      }
      server.events().clear();
    };
    for (const Conversation& conversation : conversations) {
      for (const Turn& turn : conversation.turns) {
        const auto prompt = conversation.prompt(turn);
        calls.push_back(std::make_unique<Call>(call_of({prompt.begin(), prompt.end()})));
        calls.back()->request.max_tokens = turn.n_output;
        calls.back()->answer = conversation.answer(turn);
        calls.back()->clock = &clock;
        ASSERT_TRUE(server.submit(*calls.back()).ok());
      }
    }
    while (server.begin_step(clock.now_s) > 0) {
      hear();
      server.end_step();
      hear();
      clock.now_s += 0.01;
    }
    EXPECT_TRUE(server.pool().is_consistent());
    std::set<uint64_t> in_pool;
    for (const BlockId id : server.pool().named_blocks()) {
      const auto name = server.pool().name_of(id);
      if (name.tokens.size() == kBlockTokens) in_pool.insert(name.hash);
    }
    EXPECT_EQ(held, in_pool);
    EXPECT_GT(n_stored, 300u);
    EXPECT_GT(n_removed, 100u);
    for (const auto& call : calls) EXPECT_EQ(call->reason, FinishReason::kLength);
  }
}

// A request finds as much in the cache of a simulated server as in that of an engine with a model.
TEST(Server, FindsAsMuchInItsCacheAsAnEngineWithAModel) {
  FleetOptions fleet = small_fleet(Policy::kRoundRobin);
  auto& options = fleet.server.engine;
  options.kv_tokens = 1536;
  options.idle_prefill = false;  // an engine without a thread has no idle time
  const auto file = ModelFile::open(kModel);
  const auto backend = std::move(*cpu::make_cpu_backend({.n_threads = 1}));
  ASSERT_TRUE(backend->configure(engine::limits_for(options)).ok());
  const auto model = Model::load(*file, *backend, {.n_ctx = options.n_ctx});
  ASSERT_TRUE(model.ok());
  const auto engine = std::move(*engine::Engine::create(*model, *backend, {}, options));
  fleet.server.decode_matches_prefill = backend->info().decode_matches_prefill;
  Server server(fleet.server, kKey);
  WorkloadOptions texts = short_texts(9);
  texts.last_id = 1800;
  GeneratedWorkload workload(texts);
  FleetClock clock;
  const std::vector<TokenId> other_answer(options.n_ctx, TokenId{0});
  uint32_t n_cached = 0, n_prompt = 0;
  for (const Conversation& conversation : take_requests(workload, 40)) {
    for (const Turn& turn : conversation.turns) {
      const auto prompt = conversation.prompt(turn);
      Call call = call_of({prompt.begin(), prompt.end()});
      call.request.max_tokens = turn.n_output;
      call.request.ignore_eos = true;
      call.answer = other_answer;
      call.clock = &clock;
      const auto generation = engine->generate(call.request, {});
      ASSERT_TRUE(generation.ok()) << generation.error().message;
      ASSERT_TRUE(server.submit(call).ok());
      while (server.begin_step(clock.now_s) > 0) server.end_step();
      ASSERT_EQ(call.n_cached, generation->stats.n_cached) << conversation.id;
      n_cached += call.n_cached;
      n_prompt += turn.n_prompt;
    }
  }
  EXPECT_GT(n_cached, n_prompt / 10);
  EXPECT_LT(n_cached, n_prompt);
}

class EveryPolicy : public ::testing::TestWithParam<Policy> {};

TEST_P(EveryPolicy, EveryRequestEndsWithAllOfItsTokens) {
  for (const bool has_keys : {true, false}) {
    FleetOptions options = small_fleet(GetParam());
    options.has_keys = has_keys;
    options.has_other_answers = has_keys;
    options.server.decode_matches_prefill = !has_keys;
    const FleetResult result = simulated(options, 2);
    EXPECT_GT(result.n_sent, 60u);
    EXPECT_EQ(result.n_ended, result.n_sent);
    EXPECT_EQ(result.n_measured, result.n_sent);
    EXPECT_GT(result.first_token_p50_s, 0);
    EXPECT_GE(result.first_token_p99_s, result.first_token_p50_s);
  }
}

TEST_P(EveryPolicy, OneSeedGivesOneResult) {
  const FleetOptions options = small_fleet(GetParam());
  const FleetResult result = simulated(options, 3), again = simulated(options, 3), other = simulated(options, 4);
  EXPECT_EQ(result.n_cached_tokens, again.n_cached_tokens);
  EXPECT_EQ(result.first_token_p99_s, again.first_token_p99_s);
  EXPECT_EQ(result.first_token_mean_s, again.first_token_mean_s);
  EXPECT_EQ(result.seconds, again.seconds);
  EXPECT_NE(result.first_token_mean_s, other.first_token_mean_s);
}

TEST_P(EveryPolicy, ClientsPlayAllConversationsOfAFile) {
  GeneratedWorkload made(short_texts(6));
  const auto conversations = take_requests(made, 100);
  size_t n_turns = 0;
  for (const Conversation& conversation : conversations) n_turns += conversation.turns.size();
  for (const uint32_t n_clients : {1u, 5u}) {
    FleetOptions options = small_fleet(GetParam());
    options.n_clients = n_clients;
    ListedWorkload workload(conversations);
    const auto result = simulate(options, workload);
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(result->n_ended, n_turns);
    EXPECT_EQ(result->n_measured, n_turns);
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, EveryPolicy,
                         ::testing::Values(Policy::kRoundRobin, Policy::kLeastOpen, Policy::kConversation,
                                           Policy::kPrompt, Policy::kKvEvents),
                         [](const auto& test) {
                           std::string name(to_string(test.param));
                           std::erase(name, '-');
                           return name;
                         });

TEST(Fleet, RoutingByEventsFindsMoreThanHashingAndThatMoreThanTurns) {
  for (const uint64_t seed : {1, 2, 3}) {
    const double by_turns = simulated(small_fleet(Policy::kRoundRobin), seed).hit_rate();
    const double by_hash = simulated(small_fleet(Policy::kConversation), seed).hit_rate();
    const double by_events = simulated(small_fleet(Policy::kKvEvents), seed).hit_rate();
    EXPECT_GT(by_hash, by_turns);
    EXPECT_GE(by_events, by_hash);
  }
}

TEST(Fleet, EventsThatComeLateHelpLess) {
  FleetOptions options = small_fleet(Policy::kKvEvents);
  const double at_once = simulated(options, 1).hit_rate();
  options.event_delay_s = 1e9;
  EXPECT_LT(simulated(options, 1).hit_rate(), at_once);
}

TEST(Fleet, OneServerFindsTheSameWhoeverRoutes) {
  std::set<uint64_t> n_cached;
  for (const Policy policy : {Policy::kRoundRobin, Policy::kConversation, Policy::kKvEvents}) {
    FleetOptions options = small_fleet(policy);
    options.router.n_servers = 1;
    n_cached.insert(simulated(options, 1).n_cached_tokens);
  }
  EXPECT_EQ(n_cached.size(), 1u);
}

TEST(Fleet, AnswersThatPromptsDoNotHaveAreNotFound) {
  FleetOptions options = small_fleet(Policy::kConversation);
  const double own = simulated(options, 1).hit_rate();
  options.has_other_answers = true;
  EXPECT_LT(simulated(options, 1).hit_rate(), own);
}

// One turn, with a prompt that begins like no other, and one token.
Conversation question(uint64_t id, uint32_t n_prompt) {
  const std::vector<TokenId> tokens(n_prompt + 1, TokenId{static_cast<int32_t>(id) + 1});
  return {.id = id, .tokens = tokens, .turns = {{n_prompt, 1}}};
}

FleetResult played_by_one(FleetOptions options, const std::vector<Conversation>& conversations) {
  options.router.n_servers = 1;
  options.n_clients = 1;
  ListedWorkload workload(conversations);
  return simulate(options, workload).value();
}

TEST(Fleet, TenantsWithKeysFindNothingOfEachOther) {
  FleetOptions options = small_fleet(Policy::kRoundRobin);
  std::vector<Conversation> alike(2, question(0, 100));
  alike[1].id = alike[1].tenant = 1;
  EXPECT_EQ(played_by_one(options, alike).n_cached_tokens, 0u);
  options.has_keys = false;
  EXPECT_EQ(played_by_one(options, alike).n_cached_tokens, 99u);
}

TEST(Fleet, ATokenComesAtTheEndOfTheSteps) {
  std::vector<Conversation> questions;
  for (uint64_t id = 0; id < 100; ++id) questions.push_back(question(id, id % 50 == 7 ? 200 : 100));
  const FleetResult result = played_by_one(small_fleet(Policy::kRoundRobin), questions);
  const double short_s = 0.002 + 100 * 0.0002, long_s = 2 * 0.002 + 200 * 0.0002;  // at most 128 tokens per step
  EXPECT_NEAR(result.first_token_p50_s, short_s, 1e-9);
  EXPECT_NEAR(result.first_token_p99_s, long_s, 1e-9);
  EXPECT_NEAR(result.first_token_mean_s, 0.98 * short_s + 0.02 * long_s, 1e-9);
  EXPECT_NEAR(result.seconds, 98 * short_s + 2 * long_s, 1e-9);
  EXPECT_NEAR(result.busy_mean, 1, 1e-9);
}

TEST(Fleet, EndsWhereItIsOverloaded) {
  FleetOptions options = small_fleet(Policy::kRoundRobin);
  EXPECT_FALSE(simulated(options, 1).is_overloaded);
  options.max_open = 3;
  const FleetResult result = simulated(options, 1);
  EXPECT_TRUE(result.is_overloaded);
  EXPECT_EQ(result.n_sent - result.n_ended, 4u);
}

TEST(Workload, PromptsOfAConversationGoOnFromEachOther) {
  GeneratedWorkload workload(short_texts(1));
  double last_s = 0;
  std::map<uint32_t, uint32_t> n_of_tenant;
  for (uint32_t i = 0; i < 300; ++i) {
    const auto conversation = workload.next();
    ASSERT_TRUE(conversation.has_value());
    EXPECT_GE(conversation->arrival_s, last_s);
    last_s = conversation->arrival_s;
    ++n_of_tenant[conversation->tenant];
    uint32_t end = 0;
    for (const Turn& turn : conversation->turns) {
      EXPECT_GT(turn.n_prompt, end);
      end = turn.n_prompt + turn.n_output;
    }
    EXPECT_EQ(conversation->tokens.size(), end);
    EXPECT_LE(end, 1024u);
  }
  EXPECT_EQ(n_of_tenant.size(), 4u);
  EXPECT_GT(n_of_tenant[0], n_of_tenant[3]);
}

TEST(Workload, HasTheLoadThatItIsAskedFor) {
  GeneratedWorkload workload({.seed = 3, .requests_per_s = 5});
  size_t n_requests = 0;
  double last_s = 0;
  while (n_requests < 40000) {
    const auto conversation = workload.next();
    n_requests += conversation->turns.size();
    last_s = conversation->arrival_s;
  }
  EXPECT_NEAR(static_cast<double>(n_requests) / last_s, 5, 0.4);
}

class WorkloadFile : public ::testing::Test {
 protected:
  ~WorkloadFile() override { unlink(path_.c_str()); }
  std::string message_of(const std::string& text) {
    std::ofstream(path_) << text;
    const auto read = read_workload(path_);
    return read.ok() ? "" : read.error().message;
  }
  std::string path_ = ::testing::TempDir() + "/fleet_" + std::to_string(getpid()) + ".jsonl";
};

TEST_F(WorkloadFile, IsReadAsItWasWritten) {
  GeneratedWorkload workload(short_texts(8));
  const auto written = take_requests(workload, 50);
  ASSERT_TRUE(write_workload(path_, written).ok());
  const auto read = read_workload(path_);
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_EQ(read->size(), written.size());
  for (size_t i = 0; i < written.size(); ++i) {
    const Conversation& was = written[i];
    const Conversation& is = (*read)[i];
    EXPECT_EQ(is.id, was.id);
    EXPECT_EQ(is.arrival_s, was.arrival_s);
    ASSERT_EQ(is.turns.size(), was.turns.size());
    for (size_t turn = 0; turn < was.turns.size(); ++turn) {
      EXPECT_TRUE(std::ranges::equal(is.prompt(is.turns[turn]), was.prompt(was.turns[turn])));
      EXPECT_EQ(is.turns[turn].n_output, was.turns[turn].n_output);
      EXPECT_EQ(is.turns[turn].think_s, was.turns[turn].think_s);
    }
  }
}

TEST_F(WorkloadFile, ALineThatIsWrongIsNamed) {
  const std::string first =
      R"({"conversation": 1, "turn": 0, "arrival_s": 0, "tenant": "a", "prompt_tokens": [5, 6], "output_tokens": 1})"
      "\n";
  EXPECT_EQ(message_of(first), "");
  EXPECT_NE(message_of(first + first).find(":2: expected turn 1 of conversation 1, actual 0"), std::string::npos);
  for (const char* prompt : {"[5, 6, 7]", "[5, 9, 7, 8]"}) {
    const std::string second = R"({"conversation": 1, "turn": 1, "arrival_s": 0, "tenant": "a", "prompt_tokens": )" +
                               std::string(prompt) + R"(, "output_tokens": 1})";
    EXPECT_NE(message_of(first + second).find(":2: expected a prompt that begins with"), std::string::npos) << prompt;
  }
  EXPECT_NE(message_of("{}\n").find(":1:"), std::string::npos);
  EXPECT_NE(message_of("[\n").find(":1:"), std::string::npos);
  EXPECT_NE(message_of(R"({"conversation": 1, "turn": 0, "arrival_s": 0, "tenant": "a", "prompt_tokens": [-1],)"
                       R"( "output_tokens": 1})")
                .find("expected ids of 0 to"),
            std::string::npos);
  EXPECT_FALSE(read_workload(path_ + ".none").ok());
}

}  // namespace
}  // namespace realizar::fleet
