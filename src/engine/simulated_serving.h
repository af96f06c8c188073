// Serving without a model or a clock, for tests: clients that send a request after another, the real plan_step, and a
// machine that is a function from a step's rows to milliseconds.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "engine/scheduler.h"
#include "engine/step_budget.h"

namespace realizar::engine::testing {

struct StepRows {
  uint32_t n_decode = 0, n_prompt = 0;
  double depth = 0;  // mean position of the prompt rows
};
using Machine = std::function<double(const StepRows&, double now_ms)>;

// Who says how many prompt tokens a step takes, and hears how long it took.
struct ChunkPolicy {
  std::function<uint32_t(const StepDemand&)> plan;
  std::function<void(const StepWork&, double ms)> observe;
};
inline ChunkPolicy learned(StepBudget& budget) {
  return {[&budget](const StepDemand& demand) { return budget.plan(demand); },
          [&budget](const StepWork& work, double ms) { budget.observe(work, ms); }};
}
inline ChunkPolicy fixed(uint32_t n_tokens) {
  return {[n_tokens](const StepDemand&) { return n_tokens; }, [](const StepWork&, double) {}};
}

// Each client sends its next request when it has the last token of the one before.
struct ServingLoad {
  uint32_t n_clients = 8, n_requests = 16, n_prompt = 128, n_generated = 64, max_rows = 512;
};

// What the clients saw.
struct ServingResult {
  double tokens_per_s = 0;    // generated, over all
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

inline ServingResult serve(const ServingLoad& load, const Machine& machine, const ChunkPolicy& policy) {
  return SimulatedServing(load, machine, policy).run();
}

}  // namespace realizar::engine::testing
