#include "engine/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/counter.h"
#include "sampling/finite.h"

namespace realizar::engine {

Results::Results(const Backend& backend, const ForwardOutputs& outputs, std::vector<TokenId> end_tokens, uint32_t n_ctx,
                 MaskTurns& masks, EngineCounters& counters)
    : backend_(backend),
      outputs_(outputs),
      end_tokens_(std::move(end_tokens)),
      decode_matches_prefill_(backend.info().decode_matches_prefill),
      whole_prompts_(outputs.whole_prompts),
      counters_(counters),
      sampler_(outputs.n_vocab, n_ctx),
      allowed_((outputs.n_vocab + 63) / 64),
      masks_(masks) {}

void Results::take(std::span<const SequencePtr> running, std::span<const PlannedChunk> chunks) {
  size_t first_row = 0;
  for (const PlannedChunk& chunk : chunks) {
    take_chunk(*running[chunk.seq_idx], chunk, first_row);
    first_row += chunk.n_logit_rows;
  }
}

void Results::take_chunk(Sequence& sequence, const PlannedChunk& chunk, size_t first_row) {
  if (sequence.wants_logits) sequence.sink->on_rows(sequence, chunk.n_tokens);
  if (chunk.kind == ChunkKind::kDecode) return take_decoded(sequence, chunk, first_row);
  sequence.cache.commit(sequence.tokens, chunk.n_tokens,
                        (chunk.is_prompt() || decode_matches_prefill_) && !whole_prompts_, chunk.keeps_state);
  if (chunk.is_prompt() && sequence.n_generated() == 0) {
    sequence.sink->on_prompt(sequence.ending.stats.n_cached, sequence.n_computed(),
                             elapsed_ms(sequence.first_step, Sequence::Clock::now()));
  }
  // Sequences that wait for this prompt continue from its end.
  if (chunk.is_prompt() && sequence.is_decoding() && !whole_prompts_) sequence.cache.offer_tail(sequence.tokens);
  raise_to(counters_.n_tokens_max, sequence.n_computed());
  const uint32_t first_pos = sequence.wants_first ? 0 : sequence.n_computed() - chunk.n_logit_rows;
  for (uint32_t i = 0; i < chunk.n_logit_rows && !sequence.ended; ++i) {
    take_row(sequence, first_pos + i, first_row + i);
  }
}

// Takes the last token's row, and those of its speculative tokens as long as they match the chosen ones. A state that
// has advanced past wrong ones is rolled back, and the right ones are replayed in the next step.
void Results::take_decoded(Sequence& sequence, const PlannedChunk& chunk, size_t first_row) {
  const uint32_t n_drafted = chunk.n_tokens - 1, n_known = sequence.n_known();
  uint32_t n_right = 0;
  while (true) {
    sequence.cache.commit(sequence.tokens, 1, decode_matches_prefill_);
    take_row(sequence, sequence.n_computed() - 1, first_row + n_right);
    const bool is_right = !sequence.ended && n_right < n_drafted && sequence.tokens.back() == sequence.drafts[n_right];
    if (!is_right || !masks_.is_ready(sequence)) break;
    ++n_right;
  }
  raise_to(counters_.n_tokens_max, sequence.n_computed());
  if (!sequence.ended && n_right < n_drafted) sequence.cache.rollback(sequence.n_computed());
  sequence.cache.drop_mark();
  sequence.drafts.clear();
  sequence.n_right = n_right;
  sequence.hit_rates.learn(sequence.lookup, std::span(sequence.tokens).subspan(n_known));
  sequence.lookup.clear();
  sequence.ending.stats.n_drafted += n_drafted;
  sequence.ending.stats.n_accepted += n_right;
  add_to(counters_.n_drafts, n_drafted > 0 ? 1 : 0);
  add_to(counters_.n_drafted, n_drafted);
  add_to(counters_.n_accepted, n_right);
}

// Processes the row of position `pos` as the request wants.
void Results::take_row(Sequence& sequence, uint32_t pos, size_t row) {
  sequence.first_wanted = pos + 1;
  if (sequence.request->pooling != Pooling::kNone) return pool_row(sequence, pos, row);
  const bool is_next_wanted = pos + 1 == sequence.n_known() && sequence.n_wanted > 0 && !sequence.wants_logits;
  is_next_wanted ? take_token(sequence, row) : report_row(sequence, pos, row);
}

// Rows are added in the order of their positions, so that chunking the prompt does not change a sum.
void Results::pool_row(Sequence& sequence, uint32_t pos, size_t row) {
  if (sequence.request->pooling == Pooling::kAll) return keep_row(sequence, pos, row);
  const bool ranks = sequence.request->pooling == Pooling::kRank;
  const size_t n_cols = sequence.embedding.size();
  const auto pooled = backend_.read(ranks ? outputs_.logits : outputs_.hidden).subspan(row * n_cols, n_cols);
  for (size_t i = 0; i < n_cols; ++i) sequence.embedding[i] += pooled[i];
  if (pos + 1 < sequence.n_prompt && !sequence.wants_first) return;
  double square_sum = 0;
  for (const float x : sequence.embedding) square_sum += double{x} * x;
  if (!std::isfinite(square_sum)) return fail_nonfinite(sequence, pos);
  if (ranks) return finish_vector(sequence);
  const auto scale = static_cast<float>(square_sum > 0 ? 1 / std::sqrt(square_sum) : 0);
  for (float& x : sequence.embedding) x *= scale;
  finish_vector(sequence);
}

void Results::keep_row(Sequence& sequence, uint32_t pos, size_t row) {
  const size_t n_cols = sequence.embedding.size() / sequence.n_prompt;
  const auto hidden = backend_.read(outputs_.hidden).subspan(row * n_cols, n_cols);
  if (!std::ranges::all_of(hidden, [](float x) { return std::isfinite(x); })) return fail_nonfinite(sequence, pos);
  std::ranges::copy(hidden, sequence.embedding.begin() + static_cast<std::ptrdiff_t>(pos * n_cols));
  if (pos + 1 == sequence.n_prompt) finish_vector(sequence);
}

void Results::finish_vector(Sequence& sequence) {
  note_prefill(sequence);
  sequence.finish(FinishReason::kStop);
}

// Delivers logits that are wanted themselves, or the score of a known token.
void Results::report_row(Sequence& sequence, uint32_t pos, size_t row) {
  if (!is_prediction(logits_of(row))) return fail_nonfinite(sequence, pos);
  const uint32_t next = pos + 1;
  if (sequence.wants_logits) {
    sequence.sink->on_logits(logits_of(row));
  } else if (next < sequence.n_known()) {
    const TokenEvent event{sequence.tokens[next], next, std::nullopt, {}, true};
    if (!report(sequence, event, row)) return sequence.finish(FinishReason::kCancelled);
  }
  if (next == sequence.n_known()) sequence.finish(sequence.reason_when_full());
}

void Results::take_token(Sequence& sequence, size_t row) {
  const Request& request = *sequence.request;
  TokenId id = choose_token(sequence, row);
  bool ends = is_stop(request, id);
  if (ends && request.constraint && request.constraint->refuse_end(id)) {
    ends = false;
    id = choose_token(sequence, row);
  }
  if (id == kNoToken) return end_without_token(sequence, row);
  const TokenTimes times = note_times(sequence);
  if (ends) {
    sequence.ending.stop_token = id;
    return sequence.finish(FinishReason::kStop);
  }
  if (request.constraint) {
    request.constraint->accept(id);
    MaskTurns::forget(sequence);
  }
  sequence.tokens.push_back(id);
  add_to(counters_.n_generated_tokens, 1);
  const TokenEvent event{id, sequence.n_generated() - 1, std::nullopt, {}, false, times.ms, times.device_ms};
  if (!report(sequence, event, row)) return sequence.finish(FinishReason::kCancelled);
  if (sequence.n_generated() == sequence.n_wanted) sequence.finish(sequence.reason_when_full());
}

// The logits are finite, but the request's own rules leave no token: the answer ends as if it were complete.
void Results::end_without_token(Sequence& sequence, size_t row) {
  const bool has_rules = sequence.request->constraint != nullptr && is_prediction(logits_of(row));
  if (has_rules) return sequence.finish(FinishReason::kStop);
  fail_nonfinite(sequence, sequence.n_known() - 1);
}

// Takes the backend's choice if there is one. kNoToken if no token can be chosen.
TokenId Results::choose_token(Sequence& sequence, size_t row) {
  const auto chosen = backend_.chosen();
  if (row < chosen.size() && chosen[row] != kNoToken) return chosen[row];
  const Request& request = *sequence.request;
  const bool is_constrained = request.constraint && request.constraint->allow(allowed_);
  const auto allowed = is_constrained ? std::span<const uint64_t>(allowed_) : std::span<const uint64_t>();
  const auto logits = logits_of(row);
  return request.logprobs_after_chain
             ? sampler_.sample_and_keep(request.sampling, logits, sequence.tokens, allowed, &sequence.sampler)
             : sampler_.sample(request.sampling, logits, sequence.tokens, allowed, &sequence.sampler);
}

// Records that a token has been chosen. Returns the time since the one before it, or since the request arrived.
Results::TokenTimes Results::note_times(Sequence& sequence) {
  const auto now = Sequence::Clock::now();
  const bool is_first = sequence.n_generated() == 0;
  const TokenTimes times{elapsed_ms(is_first ? sequence.arrived : sequence.last_token, now),
                         std::exchange(sequence.device_ms, 0)};
  sequence.last_token = now;
  if (!is_first) return times;
  sequence.first_token = now;
  sequence.ending.stats.first_token_ms = times.ms;
  note_prefill(sequence);
  return times;
}

void Results::note_prefill(Sequence& sequence) {
  GenerationStats& stats = sequence.ending.stats;
  stats.prefill_ms = elapsed_ms(sequence.first_step, Sequence::Clock::now()) - stats.prefix_lookup_ms;
  add_to(counters_.n_prompt_tokens, sequence.n_prompt);
}

// False if the caller wants no more.
bool Results::report(Sequence& sequence, TokenEvent event, size_t row) {
  const Request& request = *sequence.request;
  if (request.logprobs_after_chain && !event.is_prompt) {
    event.logprob = sampler_.drawn_logprob(event.id);
    event.top = sampler_.drawn_from(request.n_logprobs);
    return sequence.sink->on_token(event);
  }
  if (request.logprobs) event.logprob = sampler_.logprob(logits_of(row), event.id);
  if (request.n_logprobs > 0) event.top = sampler_.top_logprobs(logits_of(row), request.n_logprobs);
  return sequence.sink->on_token(event);
}

bool Results::is_stop(const Request& request, TokenId id) const {
  const auto holds = [id](const std::vector<TokenId>& ids) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
  };
  return holds(request.stop_tokens) || (!request.ignore_eos && holds(end_tokens_));
}

// The model's output after position `pos` is not finite: this ends this request and no other.
void Results::fail_nonfinite(Sequence& sequence, uint32_t pos) {
  add_to(counters_.n_nonfinite_logits, 1);
  sequence.fail(Error{
      ErrorCode::kInternal,
      fmt::format("the model gave no finite logit, NaN or an infinity after position {}: its weights are damaged, "
                  "or its numbers overflow",
                  pos),
      "logits"});
}

std::span<const float> Results::logits_of(size_t row) const {
  return backend_.read(outputs_.logits).subspan(outputs_.n_vocab * row, outputs_.n_vocab);
}

}  // namespace realizar::engine
