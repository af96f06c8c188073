// The step budget in service, on simulated machines: as many tokens per second as with the best fixed chunk.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "engine/scheduler.h"
#include "engine/step_budget.h"

namespace realizar::engine::testing {
namespace {

// Serving without a model or a clock: clients that send one request after another, the real plan_step, and a machine
// that is a function from a step's rows to milliseconds.
struct StepRows {
  uint32_t n_decode = 0, n_prompt = 0;
  double depth = 0;  // mean position of the prompt rows
};
using Machine = std::function<double(const StepRows&, double now_ms)>;

// Decides how many prompt tokens a step takes, and is told how long it took.
struct ChunkPolicy {
  std::function<uint32_t(const StepDemand&)> plan;
  std::function<void(const StepWork&, double ms)> observe;
};
ChunkPolicy learned(StepBudget& budget) {
  return {[&budget](const StepDemand& demand) { return budget.plan(demand); },
          [&budget](const StepWork& work, double ms) { budget.observe(work, ms); }};
}
ChunkPolicy fixed(uint32_t n_tokens) {
  return {[n_tokens](const StepDemand&) { return n_tokens; }, [](const StepWork&, double) {}};
}

// Each client sends its next request when it has the last token of the one before.
struct ServingLoad {
  uint32_t n_clients = 8, n_requests = 16, n_prompt = 128, n_generated = 64, max_rows = 512;
};

// The result as the clients see it.
struct ServingResult {
  double tokens_per_s = 0;    // generated, over all time
  double first_token_ms = 0;  // median
  double between_mean_ms = 0, between_p95_ms = 0, between_max_ms = 0;
};

class SimulatedServing {
 public:
  SimulatedServing(const ServingLoad& load, Machine machine, ChunkPolicy policy)
      : load_(load), machine_(std::move(machine)), policy_(std::move(policy)) {}

  ServingResult run() {
    for (uint32_t i = 0; i < load_.n_clients; ++i) send(i * kBetweenClientsMs);
    while (!running_.empty() || !arrivals_.empty()) {
      admit();
      step();
      take_tokens();
    }
    result_.tokens_per_s = 1e3 * load_.n_requests * load_.n_generated / now_ms_;
    result_.first_token_ms = percentile(first_tokens_ms_, 0.5);
    result_.between_p95_ms = percentile(between_ms_, 0.95);
    result_.between_max_ms = percentile(between_ms_, 1);
    for (const double ms : between_ms_) result_.between_mean_ms += ms / static_cast<double>(between_ms_.size());
    return result_;
  }

 private:
  static constexpr double kBetweenClientsMs = 2;

  struct Times {
    double sent_ms = 0, last_ms = -1;  // of its last token; -1: none yet
  };

  static double percentile(std::vector<double> values, double share) {
    std::sort(values.begin(), values.end());
    return values[std::min(values.size() - 1, static_cast<size_t>(share * static_cast<double>(values.size())))];
  }

  void send(double at_ms) {
    if (n_sent_ == load_.n_requests) return;
    ++n_sent_;
    arrivals_.push_back(at_ms);
  }

  void admit() {
    if (running_.empty()) now_ms_ = std::max(now_ms_, arrivals_.front());
    while (!arrivals_.empty() && arrivals_.front() <= now_ms_) {
      auto sequence = std::make_unique<Sequence>();
      sequence->request = &request_;
      sequence->id = SeqId{times_.size()};
      sequence->n_prompt = load_.n_prompt;
      sequence->n_wanted = load_.n_generated;
      sequence->first_wanted = load_.n_prompt - 1;
      sequence->tokens.resize(load_.n_prompt);
      running_.push_back(std::move(sequence));
      times_.push_back({arrivals_.front()});
      arrivals_.pop_front();
    }
  }

  void step() {
    plan_step(running_, {load_.max_rows, load_.n_clients + 1, policy_.plan(demand_of(running_, 0))}, plan_);
    const StepWork work = work_of(plan_);
    StepRows rows{work.n_decode_rows, work.n_prompt_tokens};
    for (const PlannedChunk& chunk : plan_) {
      if (!chunk.is_prompt()) continue;
      rows.depth += (running_[chunk.seq_idx]->n_computed() + chunk.n_tokens / 2.0) * chunk.n_tokens / rows.n_prompt;
    }
    const double ms = machine_(rows, now_ms_);
    now_ms_ += ms;
    policy_.observe(work, ms);
  }

  void take_tokens() {
    for (const PlannedChunk& chunk : plan_) {
      Sequence& sequence = *running_[chunk.seq_idx];
      sequence.cache.commit({}, chunk.n_tokens, false);
      if (chunk.n_logit_rows == 0) continue;
      sequence.tokens.emplace_back();
      sequence.first_wanted = sequence.n_known() - 1;
      Times& times = times_[static_cast<size_t>(sequence.id)];
      const bool is_first = times.last_ms < 0;
      (is_first ? first_tokens_ms_ : between_ms_).push_back(now_ms_ - (is_first ? times.sent_ms : times.last_ms));
      times.last_ms = now_ms_;
      if (sequence.n_generated() < sequence.n_wanted) continue;
      sequence.ended = FinishReason::kLength;
      send(now_ms_ + 1);
    }
    std::erase_if(running_, [](const SequencePtr& sequence) { return sequence->ended.has_value(); });
  }

  ServingLoad load_;
  Machine machine_;
  ChunkPolicy policy_;
  Request request_;
  double now_ms_ = 0;
  uint32_t n_sent_ = 0;
  std::deque<double> arrivals_;
  std::vector<SequencePtr> running_;
  std::vector<PlannedChunk> plan_;
  std::vector<Times> times_;
  std::vector<double> first_tokens_ms_, between_ms_;
  ServingResult result_;
};

ServingResult serve(const ServingLoad& load, const Machine& machine, const ChunkPolicy& policy) {
  return SimulatedServing(load, machine, policy).run();
}

// Decode steps of Llama-3.2-1B's shape in Q4_K_M on two cores of a Sapphire Rapids server, as measured.
double decode_ms(uint32_t n_rows) {
  constexpr std::pair<double, double> kMeasured[] = {{0, 0},  {1, 33}, {2, 38},  {4, 43},
                                                     {5, 57}, {8, 74}, {16, 95}, {32, 196}};
  const auto* above = std::find_if(std::begin(kMeasured), std::end(kMeasured) - 1,
                                   [n_rows](const auto& point) { return point.first >= n_rows; });
  if (above == std::begin(kMeasured)) return 0;
  const auto [n0, ms0] = above[-1];
  const auto [n1, ms1] = *above;
  return ms0 + (ms1 - ms0) * (n_rows - n0) / (n1 - n0);
}

// Measured on that machine with AMX: prompt rows are multiplied 32 at a time, after all weights are unpacked. A prompt
// of 128 takes 0.34 s by itself, one of 512 takes 1.16 s; while seven streams decoded, chunks of 32 made the longest
// step 199 ms, chunks of 128 404 ms, chunks of 384 874 ms. That fits 60 ms plus 2.15 ms a row.
Machine with_fixed_part(double fixed_ms, double token_ms) {
  return [=](const StepRows& rows, double) {
    const uint32_t n_padded = (rows.n_prompt + 31) / 32 * 32;
    return decode_ms(rows.n_decode) + (rows.n_prompt > 0 ? fixed_ms + token_ms * n_padded : 0);
  };
}
Machine amx() {
  return with_fixed_part(60, 2.15);
}

// Without AMX: every four rows beyond the first four take another pass over the weights, prompt rows like others.
double without_amx_ms(const StepRows& rows, double) {
  const double second_pass_ms = rows.n_prompt > 0 && rows.n_decode > 0 && rows.n_decode <= 4 ? 10 : 0;
  return decode_ms(rows.n_decode) + second_pass_ms + 3.7 * rows.n_prompt;
}

double gpu_ms(const StepRows& rows, double) {
  const double read_ms = rows.n_decode > 0 ? 8 + 0.06 * rows.n_decode : 0;
  return read_ms + (rows.n_prompt == 0 ? 0 : (rows.n_decode > 0 ? 1 : 8) + 0.03 * rows.n_prompt);
}

// A token costs twice as much at 4,000 positions.
double deep_ms(const StepRows& rows, double) {
  return decode_ms(rows.n_decode) + (rows.n_prompt > 0 ? 60 + 2.15 * rows.n_prompt * (1 + rows.depth / 4000) : 0);
}

// Durations vary by a tenth, and one step of a hundred takes eight times as long.
Machine noisy(Machine machine, uint32_t seed) {
  auto random = std::make_shared<std::mt19937>(seed);
  return [machine = std::move(machine), random](const StepRows& rows, double now_ms) {
    const bool is_interrupted = std::uniform_real_distribution<>()(*random) < 0.01;
    return machine(rows, now_ms) * std::exp(std::normal_distribution<>(0, 0.1)(*random)) * (is_interrupted ? 8 : 1);
  };
}

Machine changing(Machine before, Machine after, double at_ms) {
  return [=](const StepRows& rows, double now_ms) { return (now_ms < at_ms ? before : after)(rows, now_ms); };
}

Machine slowed(Machine machine, double factor) {
  return [=](const StepRows& rows, double now_ms) { return factor * machine(rows, now_ms); };
}

ServingResult serve_learned(const ServingLoad& load, const Machine& machine) {
  StepBudget budget(load.max_rows);
  return serve(load, machine, learned(budget));
}

// The most tokens per second among fixed chunks that delay decoding streams no more than `result`, on average and at
// most.
double best_fixed_tokens_per_s(const ServingLoad& load, const Machine& machine, const ServingResult& result) {
  double best = 0;
  for (const uint32_t n_tokens : {4, 16, 32, 64, 128, 256, 384, 512}) {
    const ServingResult other = serve(load, machine, fixed(n_tokens));
    const bool is_as_even =
        other.between_mean_ms <= 1.1 * result.between_mean_ms && other.between_max_ms <= 1.1 * result.between_max_ms;
    if (is_as_even) best = std::max(best, other.tokens_per_s);
  }
  return best;
}

struct Case {
  const char* name;
  ServingLoad load;
  Machine machine;
  double longest_p95_ms;  // between tokens
};

class Serving : public ::testing::TestWithParam<Case> {};

TEST_P(Serving, LearnedChunksGiveWhatTheBestFixedOneGives) {
  const auto& [name, load, machine, longest_p95_ms] = GetParam();
  const ServingResult result = serve_learned(load, machine);
  const double best = best_fixed_tokens_per_s(load, machine, result);
  EXPECT_GT(best, 0);
  EXPECT_GT(result.tokens_per_s, 0.9 * best);
  EXPECT_LT(result.between_p95_ms, longest_p95_ms);
}

// With a fixed part of 60 ms a chunk that pays off takes 0.3 s, and a step with it 0.4 to 0.7 s. Without one, steps
// stay within 3.5 times those that only decode.
INSTANTIATE_TEST_SUITE_P(
    Machines, Serving,
    ::testing::Values(Case{"Amx1Client", {1, 4}, amx(), 40}, Case{"Amx4Clients", {4, 32}, amx(), 400},
                      Case{"Amx8Clients", {8, 64}, amx(), 420}, Case{"Amx32Clients", {32, 192}, amx(), 850},
                      Case{"LargeFixedPart", {8, 64}, with_fixed_part(200, 2.15), 700},
                      Case{"WithoutAmx8Clients", {8, 64}, without_amx_ms, 3.5 * 74},
                      Case{"WithoutAmx32Clients", {32, 128}, without_amx_ms, 3.5 * 196},
                      Case{"Gpu", {32, 192}, gpu_ms, 3.5 * 10}, Case{"LongPrompts", {8, 32, 2000, 200}, deep_ms, 700},
                      Case{"LongPromptsFewTokens", {4, 16, 4000, 64}, deep_ms, 700},
                      Case{"Slows", {8, 96}, changing(amx(), slowed(amx(), 2.5), 20000), 2.5 * 420},
                      Case{"FixedPartAppears", {8, 96}, changing(without_amx_ms, with_fixed_part(120, 2), 15000), 700},
                      Case{
                          "FixedPartVanishes", {8, 96}, changing(with_fixed_part(120, 2), without_amx_ms, 15000), 700}),
    [](const auto& test) { return std::string(test.param.name); });

// The measured load: 56 tok/s with chunks of 32, 68 with 128, 15 with a budget that charged the fixed part to the
// tokens. The budget must learn within the first seconds.
TEST(ServingOnAmx, TheFirstSixteenRequestsAreNotSlow) {
  const ServingLoad load{.n_clients = 8, .n_requests = 16};
  EXPECT_NEAR(serve(load, amx(), fixed(32)).tokens_per_s, 56, 2) << "the simulation is as it was measured";
  EXPECT_NEAR(serve(load, amx(), fixed(128)).tokens_per_s, 68, 2);
  EXPECT_NEAR(serve(load, amx(), fixed(4)).tokens_per_s, 15, 2);
  const ServingResult result = serve_learned(load, amx());
  EXPECT_GT(result.tokens_per_s, 0.9 * 68);
  EXPECT_LT(result.first_token_ms, 2000);
}

TEST(ServingOnAmx, IsFasterThanWithoutIt) {
  for (const uint32_t n_clients : {1, 2, 4, 8, 16, 32}) {
    const ServingLoad load{.n_clients = n_clients, .n_requests = 2 * n_clients};
    EXPECT_GT(serve_learned(load, amx()).tokens_per_s, serve_learned(load, without_amx_ms).tokens_per_s) << n_clients;
  }
}

TEST(ServingOnNoisyMachines, GivesWhatAFixedChunkGives) {
  for (const auto& [machine, n_clients] : {std::pair{amx(), 8u}, std::pair{amx(), 32u},
                                           std::pair{Machine(without_amx_ms), 8u}, std::pair{Machine(gpu_ms), 32u}}) {
    const ServingLoad load{.n_clients = n_clients, .n_requests = 6 * n_clients};
    double learned_sum = 0, fixed_sum = 0;
    for (uint32_t seed = 1; seed <= 6; ++seed) {
      learned_sum += serve_learned(load, noisy(machine, seed)).tokens_per_s;
      fixed_sum += serve(load, noisy(machine, seed), fixed(128)).tokens_per_s;
    }
    EXPECT_GT(learned_sum, 0.9 * fixed_sum) << n_clients;
  }
}

}  // namespace
}  // namespace realizar::engine::testing
