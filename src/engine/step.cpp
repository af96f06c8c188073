#include "engine/step.h"

#include <algorithm>

#include "base/counter.h"
#include "base/try.h"
#include "engine/model_drafter.h"

namespace realizar::engine {
namespace {

void note_step(StepTimes& times, double s) {
  const bool is_first = times.n.load(std::memory_order_relaxed) == 0;
  const double min_s = times.min_s.load(std::memory_order_relaxed), max_s = times.max_s.load(std::memory_order_relaxed);
  times.min_s.store(is_first ? s : std::min(min_s, s), std::memory_order_relaxed);
  times.max_s.store(std::max(max_s, s), std::memory_order_relaxed);
  add_to(times.sum_s, s);
  add_to(times.sum_of_squares, s * s);
  add_to(times.n, 1);
}

// Whether the step computes its newest token.
bool is_decoding_next(const Sequence& sequence) {
  return sequence.is_decoding() && sequence.n_computed() + 1 == sequence.n_known() && !sequence.lacks_mask();
}

bool wants_drafts(const Sequence& sequence) {
  return is_decoding_next(sequence) && sequence.n_wanted > sequence.n_generated();
}

}  // namespace

Step::Step(Backend& backend, const ForwardPrograms& forward, const BackendLimits& limits, uint32_t n_vocab,
           const EngineOptions& options, EngineCounters& counters)
    : backend_(backend),
      forward_(forward),
      limits_(limits),
      max_drafts_of_each_(options.max_drafts()),
      max_prefill_tokens_(options.max_prefill_tokens),
      block_tokens_(options.block_tokens),
      whole_prompts_(options.whole_prompts),
      chooses_drafts_(options.n_draft == 0 && options.speculates),
      counters_(counters),
      batch_builder_(limits.max_rows, limits.max_seqs),
      choice_builder_(backend, options.choose_on_host ? 0 : limits.max_logit_rows, n_vocab),
      budget_(limits.max_rows) {
  chunks_.reserve(limits.max_seqs);
  max_drafts_.reserve(limits.max_seqs);
  offers_.reserve(limits.max_seqs);
}

Status Step::draft(std::span<const SequencePtr> running) {
  if (max_drafts_of_each_ == 0) return {};
  limit_drafts(running);
  if (drafter_ != nullptr) return draft_by_model(running);
  draft_from_text(running);
  return {};
}

void Step::draft_from_text(std::span<const SequencePtr> running) {
  look_up(running);
  const auto chances_of = [](const Sequence& sequence) { return sequence.hit_rates.of(sequence.lookup); };
  if (chooses_drafts_) grant(running, chances_of, [this](uint32_t n, uint32_t) { return budget_.decode_ms(n); });
  for (size_t i = 0; i < running.size(); ++i) {
    const auto granted = std::span<const TokenId>(running[i]->lookup.tokens).first(max_drafts_[i]);
    running[i]->drafts.assign(granted.begin(), granted.end());
  }
}

Status Step::draft_by_model(std::span<const SequencePtr> running) {
  const auto chances_of = [this](const Sequence&) { return draft_record_.chances(); };
  const auto step_ms = [this](uint32_t n_rows, uint32_t n_tokens) {
    const double decode_ms = budget_.decode_ms(n_rows);
    return decode_ms > 0 ? decode_ms + draft_record_.ms(n_tokens) : 0;
  };
  if (chooses_drafts_) grant(running, chances_of, step_ms);
  const auto start = Sequence::Clock::now();
  RZ_CHECK_OK(drafter_->draft(running, max_drafts_));
  draft_ms_ = elapsed_ms(start, Sequence::Clock::now());
  const ModelDrafter::Rounds& rounds = drafter_->rounds();
  if (rounds.n > 0) draft_record_.learn_time(rounds.n, rounds.ms);
  return {};
}

// Afterwards no sequence may have more drafts than its lookup found.
void Step::look_up(std::span<const SequencePtr> running) {
  for (size_t i = 0; i < running.size(); ++i) {
    Sequence& sequence = *running[i];
    sequence.lookup.find(sequence.tokens, wants_drafts(sequence) ? max_drafts_of_each_ : 0);
    max_drafts_[i] = std::min(max_drafts_[i], static_cast<uint32_t>(sequence.lookup.tokens.size()));
  }
}

// Limits each sequence's speculative tokens to as many as pay off in the step's time.
template <typename ChancesOf>
void Step::grant(std::span<const SequencePtr> running, const ChancesOf& chances_of, const StepTime& step_ms) {
  uint32_t n_rows = 0;
  offers_.clear();
  for (size_t i = 0; i < running.size(); ++i) {
    n_rows += is_decoding_next(*running[i]) ? 1 : 0;
    if (max_drafts_[i] > 0) offers_.push_back({chances_of(*running[i]), max_drafts_[i]});
  }
  // A prompt that ends in the step needs a row of logits too.
  const auto n_needed = std::min(static_cast<uint32_t>(running.size()), limits_.max_logit_rows);
  const uint32_t n_spare = limits_.max_logit_rows - n_needed;
  grant_drafts(offers_, n_rows, n_spare, step_ms);
  for (size_t i = 0, offer = 0; i < running.size(); ++i) {
    if (max_drafts_[i] > 0) max_drafts_[i] = offers_[offer++].n_granted;
  }
}

// If right speculative tokens can be rolled back along with wrong ones, none of them may be in a block that gets a
// name.
uint32_t Step::n_until_block_ends(const Sequence& sequence) const {
  return sequence.cache.has_states() ? block_tokens_ - 1 - sequence.n_computed() % block_tokens_ : UINT32_MAX;
}

// Decoding sequences get speculative tokens, up to the number of tokens that they still want, and up to the step's rows
// unless their number is chosen later.
void Step::limit_drafts(std::span<const SequencePtr> running) {
  const uint32_t n_rows = limits_.max_logit_rows;
  uint32_t n_left = n_rows - std::min(static_cast<uint32_t>(running.size()), n_rows);
  max_drafts_.clear();
  for (const SequencePtr& sequence : running) {
    const uint32_t n_useful = wants_drafts(*sequence) ? sequence->n_wanted - sequence->n_generated() - 1 : 0;
    max_drafts_.push_back(std::min({max_drafts_of_each_, n_useful, n_left, n_until_block_ends(*sequence)}));
    if (!chooses_drafts_) n_left -= max_drafts_.back();
  }
}

// Speculative tokens must not cost another sequence its blocks.
bool Step::plan(std::span<const SequencePtr> running, size_t n_waiting) {
  if (try_plan(running, n_waiting)) return true;
  if (!chooses_drafts_ || std::ranges::all_of(running, [](const auto& s) { return s->drafts.empty(); })) return false;
  for (const SequencePtr& sequence : running) sequence->drafts.clear();
  return try_plan(running, n_waiting);
}

bool Step::try_plan(std::span<const SequencePtr> running, size_t n_waiting) {
  const uint32_t n_prefill =
      max_prefill_tokens_ > 0 ? max_prefill_tokens_ : budget_.plan(demand_of(running, n_waiting));
  plan_step(running, {limits_.max_rows, limits_.max_logit_rows, n_prefill, whole_prompts_}, chunks_);
  return std::all_of(chunks_.begin(), chunks_.end(), [&](const PlannedChunk& chunk) {
    Sequence& sequence = *running[chunk.seq_idx];
    const bool has_drafts = chunk.kind == ChunkKind::kDecode && chunk.n_tokens > 1;
    if (has_drafts) sequence.cache.mark();
    return sequence.cache.reserve(sequence.n_computed() + chunk.n_tokens);
  });
}

Status Step::run(std::span<const SequencePtr> running) {
  const bool wants_trace =
      observer_ || std::any_of(running.begin(), running.end(), [](const auto& s) { return s->operations != nullptr; });
  if (wants_trace != is_traced_) backend_.set_trace(is_traced_ = wants_trace);
  batch_ = batch_builder_.build(running, chunks_);
  batch_.choices = choice_builder_.build(running, chunks_);
  const bool has_adapters = std::ranges::any_of(batch_.seqs, &BatchSequence::has_adapter);
  const auto start = Sequence::Clock::now();
  backend_.run(has_adapters ? forward_.adapted : forward_.plain, batch_);
  RZ_CHECK_OK(backend_.wait());
  const double ms = elapsed_ms(start, Sequence::Clock::now());
  for (const PlannedChunk& chunk : chunks_) running[chunk.seq_idx]->device_ms += ms;
  return {};
}

Status Step::run_alone(std::span<const SequencePtr> sequence, const PlannedChunk& chunk) {
  chunks_.assign(1, chunk);
  return run(sequence);
}

namespace {

uint32_t n_came(const PlannedChunk& chunk, const Sequence& sequence) {
  if (chunk.kind == ChunkKind::kReplay) return 0;
  return chunk.kind == ChunkKind::kDecode ? 1 + sequence.n_right : chunk.n_tokens;
}

}  // namespace

// A step's operations are attributed to all sequences that take part in it.
void Step::tell_operations(std::span<const SequencePtr> running) const {
  if (!is_traced_) return;
  StepTokens tokens{batch_.n_rows()};
  for (const PlannedChunk& chunk : chunks_) tokens.n_came += n_came(chunk, *running[chunk.seq_idx]);
  if (observer_) observer_(tokens, backend_.last_trace());
  for (const PlannedChunk& chunk : chunks_) {
    OpTable* operations = running[chunk.seq_idx]->operations.get();
    if (operations != nullptr) operations->add(tokens, backend_.last_trace());
  }
}

// The next step may have no speculative tokens, so the draft model's time is not part of a step's time.
void Step::observe(std::span<const SequencePtr> running, double ms) {
  const StepWork work = work_of(chunks_);
  budget_.observe(work, ms - draft_ms_);
  if (drafter_ != nullptr && work.n_decode_rows > 0) learn_drafts(running);
  publish_costs(StepBudget::kind_of(work.n_decode_rows));
  note_step(work.n_prompt_tokens > 0 ? counters_.prefill_steps : counters_.decode_steps, ms / 1e3);
  add_to(counters_.n_step_seqs, chunks_.size());
  const auto bound = std::lower_bound(kStepBoundsMs.begin(), kStepBoundsMs.end(), ms);
  add_to(counters_.n_steps_in_class[static_cast<size_t>(bound - kStepBoundsMs.begin())], 1);
}

void Step::learn_drafts(std::span<const SequencePtr> running) {
  bool has_drafts = false;
  for (const PlannedChunk& chunk : chunks_) {
    if (chunk.kind != ChunkKind::kDecode || chunk.n_tokens < 2) continue;
    has_drafts = true;
    // If the sequence has ended, tokens after its end count neither as right nor as wrong.
    const Sequence& sequence = *running[chunk.seq_idx];
    draft_record_.learn_hits(sequence.ended ? sequence.n_right : chunk.n_tokens - 1, sequence.n_right);
  }
  if (!has_drafts) draft_record_.forget_some();
}

void Step::publish_costs(size_t kind) {
  const StepBudget::Costs costs = budget_.costs(kind);
  StepCostGauges& gauges = counters_.step_costs[kind];
  gauges.decode_ms.store(costs.decode_ms, std::memory_order_relaxed);
  gauges.prompt_fixed_ms.store(costs.prompt_fixed_ms, std::memory_order_relaxed);
  gauges.prompt_token_ms.store(costs.prompt_token_ms, std::memory_order_relaxed);
}

}  // namespace realizar::engine
