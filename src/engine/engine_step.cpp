// One step of the engine: who runs, on which blocks, what is computed, what becomes of the results.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/caught.h"
#include "base/check.h"
#include "base/counter.h"
#include "engine/drafter.h"
#include "engine/engine.h"
#include "sampling/finite.h"

namespace realizar {
namespace {

using Clock = Sequence::Clock;

// Those that wait hold nothing, so there is no hurry to see that one of thousands went away.
constexpr auto kSweepInterval = std::chrono::milliseconds(5);
constexpr size_t kMinWaiting = 16;  // sequences that the list of those has room for at least

double ms_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

void note_step(StepTimes& times, double s) {
  const bool is_first = times.n.load(std::memory_order_relaxed) == 0;
  const double min_s = times.min_s.load(std::memory_order_relaxed), max_s = times.max_s.load(std::memory_order_relaxed);
  times.min_s.store(is_first ? s : std::min(min_s, s), std::memory_order_relaxed);
  times.max_s.store(std::max(max_s, s), std::memory_order_relaxed);
  add_to(times.sum_s, s);
  add_to(times.sum_of_squares, s * s);
  add_to(times.n, 1);
}

std::optional<FinishReason> reason_to_end(const Sequence& sequence, Clock::time_point now) {
  if (sequence.sink->is_cancelled()) return FinishReason::kCancelled;
  if (sequence.deadline && now >= *sequence.deadline) return FinishReason::kDeadline;
  return std::nullopt;
}

// Of a sequence that has all the tokens that it wanted: asked for by the request, or all that the context holds.
FinishReason reason_of_full(const Sequence& sequence) {
  return sequence.request->max_tokens == sequence.n_wanted ? FinishReason::kLength : FinishReason::kContext;
}

uint32_t n_common(std::span<const TokenId> a, std::span<const TokenId> b) {
  const auto end = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
  return static_cast<uint32_t>(end - a.begin());
}

}  // namespace

void Engine::submit(SequencePtr sequence) {
  sequence->id = SeqId{++n_sequences_};
  const Request& request = *sequence->request;
  const Status joined = caught([&] {
    if (waiting_.size() == waiting_.capacity()) waiting_.reserve(2 * waiting_.size() + kMinWaiting);
    shares_.join(request.tenant);
  });
  if (!joined.ok()) {
    sequence->ending.reason = FinishReason::kError;
    sequence->ending.error = &joined.error();
    return sequence->sink->on_end(sequence->ending);
  }
  const bool has_work = sequence->first_wanted < sequence->n_known();
  if (!has_work) sequence->ended = reason_of_full(*sequence);
  waiting_.push_back(std::move(sequence));
  if (!has_work) remove_ended();
  publish_counters();
}

Status Engine::step() {
  const Status status = caught([&] { return try_step(); });
  if (!status.ok()) fail_step(status.error());
  return status;
}

Status Engine::try_step() {
  const auto start = Clock::now();
  sweep(start);
  look_up_prefixes();
  admit(start);
  if (running_.empty()) {
    publish_counters();
    return {};
  }
  RZ_CHECK_OK(draft());
  plan();
  batch_ = batch_builder_.build(running_, plan_);
  batch_.choices = choice_builder_.build(running_, plan_);
  RZ_CHECK_OK(run_step(batch_));
  note_operations();
  take_results();
  observe_step(ms_between(start, Clock::now()));
  remove_ended();
  publish_counters();
  return {};
}

void Engine::cancel_all() {
  end_all(FinishReason::kCancelled, nullptr);
}

void Engine::end_each(std::span<const SequencePtr> sequences, FinishReason reason, const Error* error) {
  for (const SequencePtr& sequence : sequences) {
    finish(*sequence, reason);
    sequence->ending.error = error;
  }
}

void Engine::end_all(FinishReason reason, const Error* error) {
  end_each(running_, reason, error);
  end_each(waiting_, reason, error);
  remove_ended();
  publish_counters();
}

// What waits may fare better, unless the device is gone. What the cache holds is not known any more.
void Engine::fail_step(const Error& error) {
  counters_.is_device_lost = backend_.is_lost();
  end_each(running_, FinishReason::kError, &error);
  if (backend_.is_lost()) end_each(waiting_, FinishReason::kError, &error);
  pool_.forget_names();
  remove_ended();
  publish_counters();
}

// Ends what was cancelled or is too late.
void Engine::sweep(Clock::time_point now) {
  if (cancelled_.load(std::memory_order_relaxed)) return cancel_all();
  const auto sweep_list = [&](std::vector<SequencePtr>& list) {
    bool any = false;
    for (SequencePtr& sequence : list) {
      if (const auto reason = reason_to_end(*sequence, now)) {
        finish(*sequence, *reason);
        any = true;
      }
    }
    return any;
  };
  bool any = sweep_list(running_);
  if (now >= next_sweep_) {
    any = sweep_list(waiting_) || any;
    next_sweep_ = now + kSweepInterval;
  }
  if (any) remove_ended();
}

void Engine::admit(Clock::time_point now) {
  while (running_.size() < options_.max_seqs && !waiting_.empty()) {
    const size_t next = pick_next(waiting_, shares_, options_.priority_scope);
    Sequence& sequence = *waiting_[next];
    if (!try_admit(sequence)) return;
    if (sequence.ending.stats.n_preemptions == 0) {
      sequence.first_step = now;
      sequence.ending.stats.queue_ms = ms_between(sequence.arrived, now);
    }
    shares_.start(sequence.request->tenant);
    running_.push_back(std::move(waiting_[next]));
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(next));
  }
}

// Takes a sequence's cached prefix. False, with nothing taken, where the rest of what is known of it does not fit
// beside the next block of everyone who runs.
bool Engine::try_admit(Sequence& sequence) {
  const auto start = Clock::now();
  sequence.cache.adopt_blocks(sequence.tokens, n_cacheable(sequence));
  const size_t n_blocks = sequence.n_known() / pool_.block_tokens() + 1;
  const size_t n_needed = n_blocks - std::min(n_blocks, sequence.cache.blocks().size());
  if (!running_.empty() && pool_.n_free() < n_needed + running_.size()) {
    release(sequence);
    return false;
  }
  take_tail_or_follow(sequence, running_);
  GenerationStats& stats = sequence.ending.stats;
  if (stats.n_preemptions > 0) return true;
  stats.n_cached = sequence.n_computed();
  stats.prefix_lookup_ms = ms_between(start, Clock::now());
  add_to(counters_.n_prefix_queried, sequence.n_prompt);
  add_to(counters_.n_prefix_hits, sequence.n_computed());
  return true;
}

// Those that waited for another's prefix take it once it is there, or look for the next one that computes it.
void Engine::look_up_prefixes() {
  for (size_t i = 0; i < running_.size(); ++i) {
    Sequence& sequence = *running_[i];
    if (sequence.leader == SeqId{0}) continue;
    const auto earlier = std::span(running_).first(i);
    const auto leader = std::find_if(earlier.begin(), earlier.end(),
                                     [&](const SequencePtr& other) { return other->id == sequence.leader; });
    if (leader != earlier.end() && (*leader)->n_computed() < sequence.n_shared) continue;
    const uint32_t n_before = sequence.n_computed();
    sequence.cache.adopt_blocks(sequence.tokens, n_cacheable(sequence));
    take_tail_or_follow(sequence, earlier);
    if (sequence.ending.stats.n_preemptions > 0) continue;
    sequence.ending.stats.n_cached += sequence.n_computed() - n_before;
    add_to(counters_.n_prefix_hits, sequence.n_computed() - n_before);
  }
}

// Tokens that may come from the cache, those before the first row that is wanted.
uint32_t Engine::n_cacheable(const Sequence& sequence) const {
  if (sequence.wants_logits) return 0;
  const bool has_other_bits = sequence.n_generated() > 0 && !phases_agree_;
  return has_other_bits ? std::min(sequence.n_prompt, sequence.first_wanted) : sequence.first_wanted;
}

// Behind the whole blocks: a cached block that begins with the next tokens is copied, unless another sequence that is
// waited for will bring more.
void Engine::take_tail_or_follow(Sequence& sequence, std::span<const SequencePtr> earlier) {
  const auto tokens = phases_agree_ ? std::span(sequence.tokens) : std::span(sequence.tokens).first(sequence.n_prompt);
  const uint32_t limit = n_cacheable(sequence);
  const uint32_t n_found = sequence.cache.n_with_tail(tokens, limit);
  follow(sequence, n_found, earlier);
  const bool wants_tail = sequence.leader == SeqId{0} && n_found > sequence.n_computed();
  if (wants_tail) sequence.cache.adopt_tail(tokens, limit);
}

// Of those that came earlier and still compute their prompt, the one that will bring most beyond the n_found tokens
// that are there is waited for, where that is a block's worth at least.
void Engine::follow(Sequence& sequence, uint32_t n_found, std::span<const SequencePtr> earlier) const {
  sequence.leader = SeqId{0};
  sequence.n_shared = sequence.n_computed();
  const auto prompt = std::span(sequence.tokens).first(sequence.n_prompt);
  uint32_t n_wanted = n_found + pool_.block_tokens();
  for (const SequencePtr& other : earlier) {
    if (other->is_decoding() || other->request->cache_salt != sequence.request->cache_salt) continue;
    const uint32_t n_tokens = n_common(prompt, std::span(other->tokens).first(other->n_prompt));
    // The tail of a prompt is named as far as it goes, other blocks only where they are whole.
    const bool is_whole_prompt = n_tokens == other->n_prompt;
    const uint32_t n_shared = is_whole_prompt ? n_tokens : n_tokens / pool_.block_tokens() * pool_.block_tokens();
    const uint32_t n_brought = std::min(n_shared, n_cacheable(sequence));
    if (n_brought < n_wanted) continue;
    n_wanted = n_brought + 1;
    sequence.n_shared = n_shared;
    sequence.leader = other->id;
  }
}

void Engine::preempt(size_t running_idx) {
  SequencePtr& sequence = running_[running_idx];
  release(*sequence);
  if (sequence->request->pooling == Pooling::kMean) {
    std::fill(sequence->embedding.begin(), sequence->embedding.end(), 0.0f);
    sequence->first_wanted = 0;
  }
  ++sequence->ending.stats.n_preemptions;
  add_to(counters_.n_preemptions, 1);
  shares_.stop(sequence->request->tenant);
  waiting_.push_back(std::move(sequence));
  running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(running_idx));
}

void Engine::release(Sequence& sequence) {
  sequence.cache.release();
  sequence.drafts.clear();
  sequence.leader = SeqId{0};
  if (drafter_ != nullptr) drafter_->forget(sequence.id);
}

// Guesses are wanted for decoding sequences, as far as the step has rows for them and the sequence wants tokens.
void Engine::limit_drafts() {
  const uint32_t n_rows = limits_for(options_).max_logit_rows;
  uint32_t n_left = n_rows - std::min(static_cast<uint32_t>(running_.size()), n_rows);
  max_drafts_.clear();
  for (const SequencePtr& sequence : running_) {
    const bool is_decoding = sequence->is_decoding() && sequence->n_computed() + 1 == sequence->n_known();
    const bool wants_several = is_decoding && sequence->n_wanted > sequence->n_generated();
    const uint32_t n_useful = wants_several ? sequence->n_wanted - sequence->n_generated() - 1 : 0;
    max_drafts_.push_back(std::min({options_.n_draft, n_useful, n_left}));
    n_left -= max_drafts_.back();
  }
}

Status Engine::draft() {
  if (options_.n_draft == 0) return {};
  limit_drafts();
  if (drafter_ != nullptr) return drafter_->draft(running_, max_drafts_);
  for (size_t i = 0; i < running_.size(); ++i) {
    draft_from_history(running_[i]->tokens, max_drafts_[i], running_[i]->drafts);
  }
  return {};
}

void Engine::plan() {
  const BackendLimits limits = limits_for(options_);
  while (true) {
    const uint32_t n_bulk =
        options_.max_bulk_beside > 0 ? options_.max_bulk_beside : budget_.plan(demand_of(running_, waiting_.size()));
    plan_step(running_, {limits.max_rows, limits.max_logit_rows, n_bulk}, plan_);
    if (reserve_planned_blocks()) return;
    REQUIRE(running_.size() > 1);
    preempt(pick_victim(running_, shares_, options_.priority_scope));
  }
}

bool Engine::reserve_planned_blocks() {
  return std::all_of(plan_.begin(), plan_.end(), [&](const PlannedChunk& chunk) {
    Sequence& sequence = *running_[chunk.seq_idx];
    return sequence.cache.reserve(sequence.n_computed() + chunk.n_tokens);
  });
}

Status Engine::run_step(const StepBatch& batch) {
  if (wants_trace() != is_traced_) backend_.set_trace(is_traced_ = !is_traced_);
  backend_.run(forward_, batch);
  RZ_CHECK_OK(backend_.wait());
  if (observer_) observer_(batch.n_rows(), backend_.last_trace());
  return {};
}

bool Engine::wants_trace() const {
  return observer_ ||
         std::any_of(running_.begin(), running_.end(), [](const SequencePtr& s) { return s->operations != nullptr; });
}

// A step's operations are those of all who have a part in it.
void Engine::note_operations() {
  if (!is_traced_) return;
  for (const PlannedChunk& chunk : plan_) {
    OpTable* operations = running_[chunk.seq_idx]->operations.get();
    if (operations != nullptr) operations->add(batch_.n_rows(), backend_.last_trace());
  }
}

void Engine::observe_step(double ms) {
  const StepWork work = work_of(plan_);
  budget_.observe(work, ms);
  publish_costs(StepBudget::kind_of(work.n_decode_rows));
  note_step(work.n_prompt_tokens > 0 ? counters_.prefill_steps : counters_.decode_steps, ms / 1e3);
  const auto bound = std::lower_bound(kStepBoundsMs.begin(), kStepBoundsMs.end(), ms);
  add_to(counters_.n_steps_in_class[static_cast<size_t>(bound - kStepBoundsMs.begin())], 1);
}

void Engine::publish_costs(size_t kind) {
  const StepBudget::Costs costs = budget_.costs(kind);
  StepCostGauges& gauges = counters_.step_costs[kind];
  gauges.decode_ms.store(costs.decode_ms, std::memory_order_relaxed);
  gauges.prompt_fixed_ms.store(costs.prompt_fixed_ms, std::memory_order_relaxed);
  gauges.prompt_token_ms.store(costs.prompt_token_ms, std::memory_order_relaxed);
}

std::span<const float> Engine::logit_row(size_t row) const {
  return backend_.read(logits_).subspan(config_.n_vocab * row, config_.n_vocab);
}

// Logits come in the order of the plan.
void Engine::take_results() {
  size_t logit_row = 0;
  for (const PlannedChunk& chunk : plan_) {
    Sequence& sequence = *running_[chunk.seq_idx];
    shares_.charge(sequence.request->tenant, chunk.n_tokens);
    take_chunk(sequence, chunk, logit_row);
    logit_row += chunk.n_logit_rows;
  }
}

void Engine::take_chunk(Sequence& sequence, const PlannedChunk& chunk, size_t first_logit_row) {
  if (chunk.kind == ChunkKind::kDecode) return take_decoded(sequence, chunk, first_logit_row);
  sequence.cache.commit(sequence.tokens, chunk.n_tokens, chunk.is_prompt() || phases_agree_);
  // Those who wait for this prompt go on from its end.
  if (chunk.is_prompt() && sequence.is_decoding()) sequence.cache.offer_tail(sequence.tokens);
  const uint32_t first_pos = sequence.n_computed() - chunk.n_logit_rows;
  for (uint32_t i = 0; i < chunk.n_logit_rows && !sequence.ended; ++i) {
    take_row(sequence, first_pos + i, first_logit_row + i);
  }
}

// The row of position `pos`.
void Engine::take_row(Sequence& sequence, uint32_t pos, size_t row) {
  sequence.first_wanted = pos + 1;
  if (sequence.request->pooling != Pooling::kNone) return pool_row(sequence, pos, row);
  const bool is_next_wanted = pos + 1 == sequence.n_known() && sequence.n_wanted > 0 && !sequence.wants_logits;
  is_next_wanted ? take_token(sequence, row) : report_row(sequence, pos, row);
}

// Logits that are wanted themselves, or score a token that is known.
void Engine::report_row(Sequence& sequence, uint32_t pos, size_t row) {
  if (!is_prediction(logit_row(row))) return fail_nonfinite(sequence, pos);
  const uint32_t next = pos + 1;
  if (sequence.wants_logits) {
    sequence.sink->on_logits(logit_row(row));
  } else if (next < sequence.n_known()) {
    const TokenEvent event{sequence.tokens[next], next, std::nullopt, {}, true};
    if (!report(sequence, event, row)) return finish(sequence, FinishReason::kCancelled);
  }
  if (next == sequence.n_known()) finish(sequence, reason_of_full(sequence));
}

// The last token's row, and those of its drafts for as long as they say what was chosen.
void Engine::take_decoded(Sequence& sequence, const PlannedChunk& chunk, size_t first_logit_row) {
  const uint32_t n_drafted = chunk.n_tokens - 1;
  uint32_t n_right = 0;
  while (true) {
    sequence.cache.commit(sequence.tokens, 1, phases_agree_);
    take_row(sequence, sequence.n_computed() - 1, first_logit_row + n_right);
    const bool goes_on = !sequence.ended && n_right < n_drafted && sequence.tokens.back() == sequence.drafts[n_right];
    if (!goes_on) break;
    ++n_right;
  }
  sequence.drafts.clear();
  sequence.ending.stats.n_drafted += n_drafted;
  sequence.ending.stats.n_accepted += n_right;
  add_to(counters_.n_drafted, n_drafted);
  add_to(counters_.n_accepted, n_right);
}

// Rows are added in the order of their positions, so that no cutting of the prompt changes a sum.
void Engine::pool_row(Sequence& sequence, uint32_t pos, size_t row) {
  const size_t d_model = sequence.embedding.size();
  const auto hidden = backend_.read(hidden_).subspan(row * d_model, d_model);
  for (size_t i = 0; i < d_model; ++i) sequence.embedding[i] += hidden[i];
  if (pos + 1 < sequence.n_prompt) return;
  double square_sum = 0;
  for (const float x : sequence.embedding) square_sum += double{x} * x;
  if (!std::isfinite(square_sum)) return fail_nonfinite(sequence, pos);
  const auto scale = static_cast<float>(square_sum > 0 ? 1 / std::sqrt(square_sum) : 0);
  for (float& x : sequence.embedding) x *= scale;
  finish(sequence, FinishReason::kStop);
}

// What the model gives after position `pos` is no prediction: that is this request's end, and no other's.
void Engine::fail_nonfinite(Sequence& sequence, uint32_t pos) {
  add_to(counters_.n_nonfinite_logits, 1);
  sequence.failure = Error{
      ErrorCode::kInternal,
      fmt::format("the model gave no finite logit, NaN or an infinity after position {}: its weights are damaged, "
                  "or its numbers overflow",
                  pos),
      "logits"};
  sequence.ending.error = &*sequence.failure;
  finish(sequence, FinishReason::kError);
}

// The backend's, where it chose; kNoToken where none can be chosen.
TokenId Engine::choose_token(const Sequence& sequence, size_t row) {
  const auto chosen = backend_.chosen();
  if (row < chosen.size() && chosen[row] != kNoToken) return chosen[row];
  const Request& request = *sequence.request;
  const bool is_constrained = request.constraint && request.constraint->allow(allowed_);
  return sampler_.sample(request.sampling, logit_row(row), sequence.tokens,
                         is_constrained ? std::span<const uint64_t>(allowed_) : std::span<const uint64_t>());
}

void Engine::take_token(Sequence& sequence, size_t row) {
  const Request& request = *sequence.request;
  const TokenId id = choose_token(sequence, row);
  if (id == kNoToken) return fail_nonfinite(sequence, sequence.n_known() - 1);
  GenerationStats& stats = sequence.ending.stats;
  const auto now = Clock::now();
  const double token_ms = ms_between(sequence.n_generated() == 0 ? sequence.arrived : sequence.last_token, now);
  sequence.last_token = now;
  if (sequence.n_generated() == 0) {
    sequence.first_token = now;
    stats.first_token_ms = ms_between(sequence.arrived, sequence.first_token);
    stats.prefill_ms = ms_between(sequence.first_step, sequence.first_token) - stats.prefix_lookup_ms;
    add_to(counters_.n_prompt_tokens, sequence.n_prompt);
  }
  if (is_stop(request, id)) {
    sequence.ending.stop_token = id;
    return finish(sequence, FinishReason::kStop);
  }
  if (request.constraint) request.constraint->accept(id);
  sequence.tokens.push_back(id);
  add_to(counters_.n_generated_tokens, 1);
  const TokenEvent event{id, sequence.n_generated() - 1, std::nullopt, {}, false, token_ms};
  if (!report(sequence, event, row)) return finish(sequence, FinishReason::kCancelled);
  if (sequence.n_generated() < sequence.n_wanted) return;
  finish(sequence, reason_of_full(sequence));
}

// False where the caller wants no more.
bool Engine::report(Sequence& sequence, TokenEvent event, size_t row) {
  const Request& request = *sequence.request;
  if (request.logprobs) event.logprob = sampler_.logprob(logit_row(row), event.id);
  if (request.n_logprobs > 0) event.top = sampler_.top_logprobs(logit_row(row), request.n_logprobs);
  return sequence.sink->on_token(event);
}

bool Engine::is_stop(const Request& request, TokenId id) const {
  const auto holds = [id](const std::vector<TokenId>& ids) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
  };
  return holds(request.stop_tokens) || (!request.ignore_eos && holds(end_tokens_));
}

// Its blocks are back at once, and can be found; the sink hears of it when the step's results are all taken.
void Engine::finish(Sequence& sequence, FinishReason reason) {
  if (sequence.ended) return;
  sequence.ended = reason;
  if (reason != FinishReason::kError) sequence.cache.offer_tail(sequence.tokens);
  release(sequence);
}

void Engine::remove_ended() {
  const auto close = [&](const SequencePtr& sequence) {
    if (!sequence->ended) return false;
    Ending& ending = sequence->ending;
    ending.reason = *sequence->ended;
    ending.tokens = std::span(sequence->tokens).subspan(sequence->n_prompt);
    ending.embedding = sequence->embedding;
    ending.operations = sequence->operations.get();
    ending.stats.n_generated = sequence->n_generated();
    if (ending.stats.n_generated > 0) ending.stats.decode_ms = ms_between(sequence->first_token, Clock::now());
    shares_.leave(sequence->request->tenant);
    const bool has_run = sequence->first_step != Clock::time_point{};
    if (has_run) add_to(ending.stats.n_cached > 0 ? counters_.n_warm_requests : counters_.n_cold_requests, 1);
    sequence->sink->on_end(ending);
    return true;
  };
  std::erase_if(running_, [&](const SequencePtr& sequence) {
    if (sequence->ended) shares_.stop(sequence->request->tenant);
    return close(sequence);
  });
  std::erase_if(waiting_, close);
}

void Engine::publish_counters() {
  counters_.n_running.store(static_cast<uint32_t>(running_.size()), std::memory_order_relaxed);
  counters_.n_waiting.store(static_cast<uint32_t>(waiting_.size()), std::memory_order_relaxed);
  counters_.n_held_blocks.store(pool_.n_blocks() - pool_.n_free(), std::memory_order_relaxed);
  const BlockPool::NameCounts& names = pool_.name_counts();
  counters_.n_inserted_blocks.store(names.n_inserted, std::memory_order_relaxed);
  counters_.n_evicted_blocks.store(names.n_evicted, std::memory_order_relaxed);
  counters_.n_saved_blocks.store(names.n_saved, std::memory_order_relaxed);
  counters_.n_dropped_blocks.store(names.n_dropped, std::memory_order_relaxed);
  counters_.n_named_blocks.store(names.n_named, std::memory_order_relaxed);
  counters_.n_stored_blocks.store(names.n_stored, std::memory_order_relaxed);
}

}  // namespace realizar
