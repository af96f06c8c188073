#include "engine/step_budget.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace realizar::engine {
namespace {

// Less than 2, so that the noise of single steps stays within twice the time.
constexpr double kStretch = 1.8;
constexpr double kMaxStretch = 3.5;
constexpr double kBacklog = 4;  // how much further waiting prompts stretch a step, shared by the decoding sequences
constexpr double kWorth = 7;

constexpr uint32_t kStart = 16;  // tokens of a chunk while nothing is known
constexpr double kLeast = 4;     // the least tokens of a chunk
// The largest ratio between a chunk and the largest recent one: a wrong estimate costs one step. The second value
// applies while the fixed part is unknown, so that a single interruption does not make chunks large.
constexpr double kGrowth = 4, kFirstGrowth = 2;
constexpr double kForgets = 0.98;

constexpr uint32_t kFew = 32;     // most tokens of a small chunk
constexpr double kFaster = 1.25;  // minimum speed of large chunks relative to small ones

// Every eighth chunk has another size, usually half: two sizes separate the fixed part from the tokens' part. A small
// chunk tells little, and is doubled if its costs are not well known. Every second time a large chunk is replaced by a
// small one, which may have become as fast.
constexpr uint32_t kTrials = 8;
constexpr double kSmall = 64, kSmallTrial = 16;

// The cost of decoding without prompt tokens is the mean of the first steps, then a sliding mean, and no step moves it
// far. It is measured again after some mixed steps, soon at first.
constexpr double kNewest = 0.2, kMaxFactor = 2;
constexpr double kAlike = 0.2;   // relative difference between the costs of neighbouring kinds
constexpr double kUnsure = 0.1;  // share that may be noise, and is not attributed to the prompts' fixed part
constexpr double kLeastMs = 1e-3;
constexpr uint32_t kMixedSteps = 64;

uint32_t steps_until_measured(uint32_t n_decodes) {
  return std::min(kMixedSteps, 4u << std::min(n_decodes, 4u));
}

}  // namespace

size_t StepBudget::kind_of(uint32_t n_decode_rows) {
  const auto width = static_cast<uint32_t>(std::bit_width(n_decode_rows));
  const uint32_t is_upper_half = width < 2 ? 0 : n_decode_rows >> (width - 2) & 1;
  return size_t{2} * width + is_upper_half;
}

StepBudget::RowRange StepBudget::rows_of(size_t kind) {
  const size_t width = kind / 2;
  const uint64_t n_rows = width < 2 ? width : uint64_t{1} << (width - 2);  // half-powers of two
  const uint64_t first = width < 2 ? n_rows : n_rows * (2 + kind % 2);
  const uint64_t last = width < 2 ? n_rows : first + n_rows - 1;
  return {static_cast<uint32_t>(first), static_cast<uint32_t>(last)};
}

double StepBudget::Kind::n_fixed_tokens() const {
  return std::max(mixed.fixed_ms() - (1 + kUnsure) * decode_ms, 0.0) / mixed.token_ms();
}

StepBudget::Costs StepBudget::costs(size_t kind_idx) const {
  const Kind& kind = kinds_[kind_idx];
  if (kind.n_mixed == 0) return {kind.decode_ms, 0, 0};
  return {kind.decode_ms, std::max(kind.mixed.fixed_ms() - kind.decode_ms, 0.0), kind.mixed.token_ms()};
}

double StepBudget::decode_ms(uint32_t n_rows) const {
  for (size_t kind = kind_of(n_rows) + 1; kind-- > 0;) {
    if (kinds_[kind].n_decodes > 0) return kinds_[kind].decode_ms;
  }
  return 0;
}

uint32_t StepBudget::plan(const StepDemand& demand) {
  if (demand.n_decode_rows == 0) return max_tokens_;
  const double n_more = std::max(demand.n_prompts, 1u) - 1;
  stretch_ = std::min(kStretch + kBacklog * n_more / std::max(demand.n_decoding, 1u), kMaxStretch);
  Kind& kind = kinds_[kind_of(demand.n_decode_rows)];
  const bool must_measure = kind.n_decodes == 0 || kind.n_mixed_since >= steps_until_measured(kind.n_decodes);
  if (must_measure || lag_ms_ > 0) return 0;
  if (!kind.mixed.is_known()) adopt_cost(kind);
  return kind.mixed.is_known() ? chunk(kind, demand.n_prompt_tokens) : std::min(kStart, max_tokens_);
}

// Taken from the nearest known kind, or from prompts that were computed by themselves.
void StepBudget::adopt_cost(Kind& kind) const {
  const auto distance = [&](const Kind& other) { return std::abs(&other - &kind); };
  const Kind* nearest = nullptr;
  for (const Kind& other : kinds_) {
    if (other.mixed.is_known() && (nearest == nullptr || distance(other) < distance(*nearest))) nearest = &other;
  }
  if (nearest != nullptr) {
    kind.mixed.start_like(nearest->mixed, kind.decode_ms - nearest->decode_ms, kAlike * kind.decode_ms);
  } else if (alone_.is_known()) {
    kind.mixed.start(kind.decode_ms, alone_.token_ms());
  }
}

bool StepBudget::Kind::is_worth_large_chunks() const {
  return few_tokens_per_ms == 0 || many_tokens_per_ms == 0 || many_tokens_per_ms > kFaster * few_tokens_per_ms;
}

double StepBudget::trial_chunk(const Kind& kind, double n_tokens) {
  if (n_tokens < kSmall && !kind.mixed.is_split_known()) return 2 * n_tokens;
  const bool is_second = kind.n_mixed / kTrials % 2 == 1;
  return is_second && n_tokens > kFew ? kSmallTrial : std::max(n_tokens / 2, 1.0);
}

uint32_t StepBudget::chunk(const Kind& kind, uint32_t n_waiting) const {
  const double n_fixed = kind.n_fixed_tokens();
  const double n_even = (stretch_ * kind.decode_ms - kind.mixed.fixed_ms()) / kind.mixed.token_ms();
  const double n_shared = kWorth * n_fixed;
  const double n_worth = n_shared <= kFew || kind.is_worth_large_chunks() ? n_shared : 0;
  const double growth = kind.mixed.is_split_known() ? kGrowth : kFirstGrowth;
  const double n_most = std::min<double>(max_tokens_, growth * std::max<double>(n_tried_, kStart));
  const double n_tokens = std::clamp(std::max(n_even, n_worth), std::min(kLeast, n_most), n_most);
  if (kind.n_mixed % kTrials == kTrials - 1) {
    return static_cast<uint32_t>(std::min(trial_chunk(kind, n_tokens), n_most));
  }
  // The rest costs less than the fixed part of a separate step.
  const bool takes_rest = n_waiting > n_tokens && n_waiting <= std::min(n_tokens + n_fixed, n_most);
  return takes_rest ? n_waiting : static_cast<uint32_t>(n_tokens);
}

void StepBudget::observe(const StepWork& work, double ms) {
  ms = std::max(ms, kLeastMs);
  if (work.n_decode_rows == 0) return observe_prompts_alone(work, ms);
  Kind& kind = kinds_[kind_of(work.n_decode_rows)];
  const bool has_replays = work.n_replayed_tokens > 0, is_mixed = has_replays || work.n_prompt_tokens > 0;
  if (!is_mixed) learn_decode(kind, ms);
  // The expected time counts, so that an interruption is not attributed to the prompts.
  const bool is_foreseen = kind.mixed.is_known() && !has_replays;
  const double seen_ms = std::min(ms, kMixedSteps * kind.decode_ms);
  const double step_ms = !is_mixed ? kind.decode_ms : is_foreseen ? kind.mixed.ms(work.n_prompt_tokens) : seen_ms;
  lag_ms_ = std::max(lag_ms_ + step_ms - stretch_ * kind.decode_ms, 0.0);
  // Replayed tokens are computed like decoding, at other costs than a prompt's.
  if (is_mixed && !has_replays) learn_mixed(kind, work.n_prompt_tokens, ms);
}

void StepBudget::observe_prompts_alone(const StepWork& work, double ms) {
  lag_ms_ = 0;
  if (work.n_prompt_tokens == 0 || work.n_replayed_tokens > 0) return;
  if (alone_.is_known()) return alone_.observe(work.n_prompt_tokens, ms);
  alone_.start(0, ms / work.n_prompt_tokens);
}

void StepBudget::learn_decode(Kind& kind, double ms) {
  ++kind.n_decodes;
  kind.n_mixed_since = 0;
  if (kind.n_decodes > 1) ms = std::clamp(ms, kind.decode_ms / kMaxFactor, kind.decode_ms * kMaxFactor);
  kind.decode_ms += (ms - kind.decode_ms) * std::max(kNewest, 1.0 / kind.n_decodes);
}

void StepBudget::learn_mixed(Kind& kind, uint32_t n_tokens, double ms) {
  ++kind.n_mixed_since;
  ++kind.n_mixed;
  n_tried_ = std::max<double>(n_tried_ * kForgets, n_tokens);
  if (kind.n_decodes == 0) return;
  learn_rate(kind, n_tokens, ms);
  if (kind.mixed.is_known()) return kind.mixed.observe(n_tokens, ms);
  kind.mixed.start(kind.decode_ms, std::max(ms - kind.decode_ms, 0.0) / n_tokens);
}

// Includes the steps that make up for the chunk's time beyond the pace. Interruptions only make steps longer, so a
// faster rate counts at once.
void StepBudget::learn_rate(Kind& kind, uint32_t n_tokens, double ms) const {
  const double excess_ms = std::max(ms - stretch_ * kind.decode_ms, 0.0);
  const double seen = n_tokens / (ms + excess_ms / (stretch_ - 1));
  double& rate = n_tokens <= kFew ? kind.few_tokens_per_ms : kind.many_tokens_per_ms;
  rate = std::max(seen, rate + (seen - rate) * kNewest);
}

}  // namespace realizar::engine
