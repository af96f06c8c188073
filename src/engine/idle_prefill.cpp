#include "engine/idle_prefill.h"

#include <algorithm>

#include "base/counter.h"

namespace realizar::engine {

IdlePrefill::IdlePrefill(kv::CachePools pools, uint32_t max_rows, bool is_wanted, EngineCounters& counters)
    : pools_(pools),
      max_rows_(max_rows),
      is_wanted_(is_wanted),
      counters_(counters),
      n_rows_(std::min(kMinRows, max_rows)) {
  if (is_wanted_) answers_.reserve(kMaxAnswers);
}

bool IdlePrefill::wants(const Sequence& ended) const {
  const bool has_failed = ended.ended == FinishReason::kError;
  const bool is_plain = !ended.adapter && !ended.wants_logits;
  return is_wanted_ && !has_failed && is_plain && ended.n_generated() >= pools_.blocks->block_tokens();
}

void IdlePrefill::remember(Answer answer) {
  pause();
  if (answers_.size() == kMaxAnswers) answers_.erase(answers_.begin());
  answers_.push_back(std::move(answer));
}

void IdlePrefill::forget(std::optional<uint64_t> tenant) {
  pause();
  std::erase_if(answers_, [&](const Answer& answer) { return !tenant || answer.tenant == *tenant; });
}

std::optional<PlannedChunk> IdlePrefill::plan() {
  for (; !answers_.empty(); close()) {
    if (sequence_ == nullptr && !open(answers_.back())) continue;
    Sequence& sequence = *sequence_;
    const uint32_t n_left = next_chunk_boundary(sequence, {}) - sequence.n_computed(),
                   n_tokens = std::min(n_left, n_rows_);
    if (n_tokens == 0 || !sequence.cache.reserve(sequence.n_computed() + n_tokens)) continue;
    return PlannedChunk{0, n_tokens, ChunkKind::kPrompt, 0, n_tokens == n_left};
  }
  return std::nullopt;
}

// Begins an answer. False if blocks of its prompt were evicted from the cache: memory is needed for other things.
bool IdlePrefill::open(Answer& answer) {
  sequence_ = std::make_unique<Sequence>();
  const auto n_tokens = static_cast<uint32_t>(answer.tokens.size());
  sequence_->request = &request_;
  sequence_->tokens = std::move(answer.tokens);
  sequence_->n_prompt = sequence_->first_wanted = n_tokens;
  kv::SequenceCache& cache = sequence_->cache;
  cache = kv::SequenceCache(pools_, answer.cache_salt, answer.tenant, n_tokens);
  cache.adopt_blocks(sequence_->tokens, n_tokens);
  if (cache.n_computed() + pools_.blocks->block_tokens() <= answer.n_prompt) return false;
  cache.adopt_tail(sequence_->tokens, n_tokens);
  return true;
}

void IdlePrefill::take(const PlannedChunk& chunk, double ms) {
  sequence_->cache.commit(sequence_->tokens, chunk.n_tokens, true, chunk.keeps_state);
  add_to(counters_.n_idle_prefill_tokens, chunk.n_tokens);
  const double n_rows_in_time = chunk.n_tokens * kStepMs / std::max(ms, kStepMs / max_rows_);
  n_rows_ = static_cast<uint32_t>(std::min(n_rows_in_time, 2.0 * chunk.n_tokens));
  n_rows_ = std::clamp(n_rows_, std::min(kMinRows, max_rows_), max_rows_);
}

void IdlePrefill::pause() {
  if (sequence_ == nullptr) return;
  sequence_->cache.offer_tail(sequence_->tokens);
  answers_.back().tokens = std::move(sequence_->tokens);
  sequence_ = nullptr;
}

// The newest answer is done, or abandoned.
void IdlePrefill::close() {
  if (sequence_ != nullptr) pause();
  answers_.pop_back();
}

}  // namespace realizar::engine
