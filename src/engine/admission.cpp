#include "engine/admission.h"

#include <algorithm>
#include <chrono>

#include "base/caught.h"
#include "base/check.h"
#include "base/counter.h"
#include "engine/model_drafter.h"
#include "engine/open_requests.h"

namespace realizar::engine {
namespace {

// Waiting requests hold nothing, so it is not urgent to notice that one of thousands was cancelled.
constexpr auto kSweepInterval = std::chrono::milliseconds(5);
constexpr size_t kMinWaiting = 16;  // minimum capacity of the list of waiting sequences

std::optional<FinishReason> reason_to_end(const Sequence& sequence, Sequence::Clock::time_point now) {
  if (sequence.sink->is_cancelled()) return FinishReason::kCancelled;
  if (sequence.deadline && now >= *sequence.deadline) return FinishReason::kDeadline;
  return std::nullopt;
}

uint32_t n_common(std::span<const TokenId> a, std::span<const TokenId> b) {
  const auto end = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
  return static_cast<uint32_t>(end - a.begin());
}

void end_each(std::span<const SequencePtr> sequences, FinishReason reason, const Error* error) {
  for (const SequencePtr& sequence : sequences) {
    sequence->finish(reason);
    sequence->ending.error = error;
  }
}

}  // namespace

Admission::Admission(kv::BlockPool& pool, IdlePrefill& idle_prefill, const EngineOptions& options,
                     bool decode_matches_prefill, EngineCounters& counters)
    : pool_(pool),
      idle_prefill_(idle_prefill),
      max_seqs_(options.max_seqs),
      max_rows_(options.max_batch_tokens),
      priority_scope_(options.priority_scope),
      decode_matches_prefill_(decode_matches_prefill),
      whole_prompts_(options.whole_prompts),
      counters_(counters),
      shares_(options.max_seqs) {
  running_.reserve(max_seqs_);
}

void Admission::submit(SequencePtr sequence) {
  sequence->id = SeqId{++n_sequences_};
  const Status joined = caught([&] {
    if (waiting_.size() == waiting_.capacity()) waiting_.reserve(2 * waiting_.size() + kMinWaiting);
    shares_.join(sequence->request->tenant);
  });
  if (!joined.ok()) {
    sequence->ending.reason = FinishReason::kError;
    sequence->ending.error = &joined.error();
    return sequence->sink->on_end(sequence->ending);
  }
  const bool has_work = sequence->first_wanted < sequence->n_known();
  if (!has_work) sequence->ended = sequence->reason_when_full();
  waiting_.push_back(std::move(sequence));
  if (!has_work) remove_ended();
  shed();
}

void Admission::shed() {
  while (running_.size() + waiting_.size() > max_open_) {
    const auto victim = pick_shed(waiting_, shares_, max_open_);
    if (!victim) return;
    const Error error = queue_is_full(max_open_);
    end_each(std::span(waiting_).subspan(*victim, 1), FinishReason::kError, &error);
    remove_ended();
  }
}

void Admission::update(Sequence::Clock::time_point now) {
  sweep(now);
  look_up_prefixes();
  admit(now);
}

void Admission::sweep(Sequence::Clock::time_point now) {
  const auto sweep_list = [now](std::vector<SequencePtr>& list) {
    bool any = false;
    for (SequencePtr& sequence : list) {
      if (const auto reason = reason_to_end(*sequence, now)) {
        sequence->finish(*reason);
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

// Sequences that waited for another's prefix take it once it is computed, or find the next sequence that computes it.
void Admission::look_up_prefixes() {
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

void Admission::admit(Sequence::Clock::time_point now) {
  while (!waiting_.empty()) {
    const auto claimant = pick_claimant();
    const size_t next = claimant ? *claimant : pick_next(waiting_, shares_, priority_scope_);
    Sequence& sequence = *waiting_[next];
    // One block is kept free for each running sequence.
    const uint32_t n_reserved = static_cast<uint32_t>(running_.size()) * pool_.n_groups();
    if (claimant) {
      make_room(sequence);
    } else if (running_.size() == max_seqs_ || !try_admit(sequence, n_reserved)) {
      return;
    }
    if (sequence.ending.stats.n_preemptions == 0) {
      sequence.first_step = now;
      sequence.ending.stats.queue_ms = elapsed_ms(sequence.arrived, now);
    }
    shares_.start(sequence.request->tenant);
    sequence.adapter.set_running(true);
    running_.push_back(std::move(waiting_[next]));
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(next));
  }
}

std::optional<size_t> Admission::pick_claimant() const {
  if (priority_scope_ != PriorityScope::kTenant) return std::nullopt;
  return engine::pick_claimant(waiting_, shares_, [this](const Sequence& sequence) { return can_have_room(sequence); });
}

// Whether a slot and blocks are free, or can be taken from tenants above their share, while its own tenant stays within
// its share.
bool Admission::can_have_room(const Sequence& sequence) const {
  const uint64_t tenant = sequence.request->tenant;
  const bool has_slot =
      running_.size() < max_seqs_ || has_claim(shares_.n_running(tenant) + 1, n_running_most(), shares_.slot_share());
  if (!has_slot) return false;
  const uint64_t share = block_share(), n_wanted = n_missing(sequence);
  if (n_blocks_of(running_, tenant) + n_wanted > share) return false;
  return n_wanted <= pool_.n_free() || n_wanted <= pool_.n_free() + n_beyond_share(running_, share);
}

uint32_t Admission::n_running_most() const {
  return shares_.n_running(running_[pick_victim(running_, shares_, priority_scope_)]->request->tenant);
}

uint64_t Admission::block_share() const {
  return share_of(pool_.n_blocks(), shares_.n_active());
}

// Takes a slot and blocks for a claimant from the tenants above their share. It does not wait because others will want
// blocks next: those are taken from the same tenants when needed.
void Admission::make_room(Sequence& sequence) {
  if (running_.size() == max_seqs_) preempt(pick_victim(running_, shares_, priority_scope_));
  while (!try_admit(sequence, 0)) preempt(pick_block_victim(running_));
}

// Blocks for the tokens known so far.
uint32_t Admission::n_missing(const Sequence& sequence) const {
  return sequence.cache.n_missing(sequence.n_known(), max_rows_);
}

// Takes a sequence's cached prefix. False, with nothing taken, if fewer blocks are free than the rest and n_reserved.
bool Admission::try_admit(Sequence& sequence, uint32_t n_reserved) {
  const auto start = Sequence::Clock::now();
  sequence.cache.adopt_blocks(sequence.tokens, n_cacheable(sequence));
  if (!running_.empty() && pool_.n_free() < n_missing(sequence) + n_reserved) {
    sequence.give_back();
    return false;
  }
  take_tail_or_follow(sequence, running_);
  GenerationStats& stats = sequence.ending.stats;
  if (stats.n_preemptions > 0) return true;
  stats.n_cached = sequence.n_computed();
  stats.prefix_lookup_ms = elapsed_ms(start, Sequence::Clock::now());
  sequence.sink->on_prompt(stats.n_cached, stats.n_cached, 0);
  add_to(counters_.n_prefix_queried, sequence.n_prompt);
  add_to(counters_.n_prefix_hits, sequence.n_computed());
  return true;
}

// Counts the tokens that may come from the cache: those before the first row whose result is wanted.
uint32_t Admission::n_cacheable(const Sequence& sequence) const {
  if (sequence.wants_logits || whole_prompts_) return 0;
  const bool has_other_bits = sequence.n_generated() > 0 && !decode_matches_prefill_;
  return has_other_bits ? std::min(sequence.n_prompt, sequence.first_wanted) : sequence.first_wanted;
}

// Copies the cached block that begins with the tokens after the whole blocks, unless another sequence will provide
// more: then it waits for that one.
void Admission::take_tail_or_follow(Sequence& sequence, std::span<const SequencePtr> earlier) {
  const auto tokens =
      decode_matches_prefill_ ? std::span(sequence.tokens) : std::span(sequence.tokens).first(sequence.n_prompt);
  const uint32_t limit = n_cacheable(sequence);
  const uint32_t n_found = sequence.cache.n_with_tail(tokens, limit);
  follow(sequence, n_found, earlier);
  const bool wants_tail = sequence.leader == SeqId{0} && n_found > sequence.n_computed();
  if (wants_tail) sequence.cache.adopt_tail(tokens, limit);
}

// Waits for the earlier sequence, still in prefill, that will provide the most tokens beyond the n_found cached ones,
// if that is at least a block.
void Admission::follow(Sequence& sequence, uint32_t n_found, std::span<const SequencePtr> earlier) const {
  sequence.leader = SeqId{0};
  sequence.n_shared = sequence.n_computed();
  const auto prompt = std::span(sequence.tokens).first(sequence.n_prompt);
  uint32_t n_wanted = n_found + pool_.block_tokens();
  for (const SequencePtr& other : earlier) {
    if (other->is_decoding() || other->cache_salt != sequence.cache_salt) continue;
    const uint32_t n_tokens = n_common(prompt, std::span(other->tokens).first(other->n_prompt));
    // The tail of a prompt is named to its end, other blocks only if they are whole.
    const bool has_states = sequence.cache.has_states();
    const bool is_whole_prompt = n_tokens == other->n_prompt && !has_states;
    const uint32_t n_useful = has_states ? std::min(n_tokens, n_cacheable(sequence)) : n_tokens;
    const uint32_t n_shared = is_whole_prompt ? n_tokens : n_useful / pool_.block_tokens() * pool_.block_tokens();
    const uint32_t n_brought = std::min(n_shared, n_cacheable(sequence));
    // The planner ends the other's chunk there, unless it is past that already.
    const bool is_beyond = has_states && other->n_computed() >= n_shared;
    if (n_brought < n_wanted || is_beyond) continue;
    n_wanted = n_brought + 1;
    sequence.n_shared = n_shared;
    sequence.leader = other->id;
  }
}

void Admission::preempt() {
  REQUIRE(running_.size() > 1);
  // A sequence that has claimed room keeps it: otherwise two would restart in every step, and neither make progress.
  const bool is_beyond = priority_scope_ == PriorityScope::kTenant && n_beyond_share(running_, block_share()) > 0;
  preempt(is_beyond ? pick_block_victim(running_) : pick_victim(running_, shares_, priority_scope_));
}

void Admission::preempt(size_t victim) {
  SequencePtr& sequence = running_[victim];
  sequence->give_back();
  stop_running(*sequence);
  if (sequence->request->pooling == Pooling::kMean) {
    std::fill(sequence->embedding.begin(), sequence->embedding.end(), 0.0f);
    sequence->first_wanted = 0;
  }
  ++sequence->ending.stats.n_preemptions;
  add_to(counters_.n_preemptions, 1);
  waiting_.push_back(std::move(sequence));
  running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(victim));
}

void Admission::charge(std::span<const PlannedChunk> chunks) {
  for (const PlannedChunk& chunk : chunks) shares_.charge(running_[chunk.seq_idx]->request->tenant, chunk.n_tokens);
}

void Admission::end_running(FinishReason reason, const Error* error) {
  end_each(running_, reason, error);
  remove_ended();
}

void Admission::end_waiting(FinishReason reason, const Error* error) {
  end_each(waiting_, reason, error);
  remove_ended();
}

void Admission::remove_ended() {
  const auto has_ended = [](const SequencePtr& sequence) { return sequence->ended.has_value(); };
  for (const SequencePtr& sequence : running_) {
    if (has_ended(sequence)) stop_running(*sequence);
  }
  for (std::vector<SequencePtr>* list : {&running_, &waiting_}) {
    std::erase_if(*list, [&](const SequencePtr& sequence) {
      if (has_ended(sequence)) close(*sequence);
      return has_ended(sequence);
    });
  }
}

void Admission::stop_running(Sequence& sequence) {
  sequence.adapter.set_running(false);
  shares_.stop(sequence.request->tenant);
  if (drafter_ != nullptr) drafter_->forget(sequence.id);
}

// Reports the end to the sink. After that the request may be destroyed.
void Admission::close(Sequence& sequence) {
  Ending& ending = sequence.ending;
  ending.reason = *sequence.ended;
  ending.tokens = std::span(sequence.tokens).subspan(sequence.n_prompt);
  ending.embedding = sequence.embedding;
  ending.operations = sequence.operations.get();
  ending.stats.n_generated = sequence.n_generated();
  if (ending.stats.n_generated > 0) {
    ending.stats.decode_ms = elapsed_ms(sequence.first_token, Sequence::Clock::now());
  }
  shares_.leave(sequence.request->tenant);
  const bool has_run = sequence.first_step != Sequence::Clock::time_point{};
  if (has_run) add_to(ending.stats.n_cached > 0 ? counters_.n_warm_requests : counters_.n_cold_requests, 1);
  const bool is_remembered = idle_prefill_.wants(sequence);
  IdlePrefill::Answer answer{{}, sequence.n_prompt, sequence.cache_salt, sequence.request->tenant};
  sequence.sink->on_end(ending);
  if (!is_remembered) return;
  answer.tokens = std::move(sequence.tokens);
  idle_prefill_.remember(std::move(answer));
}

}  // namespace realizar::engine
