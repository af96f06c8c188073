#include "engine/sequence.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/try.h"
#include "sampling/sampler.h"

namespace realizar::engine {
namespace {

Status check_prompt(std::span<const TokenId> prompt, const SequenceLimits& limits) {
  if (prompt.empty()) return invalid_argument("the prompt is empty", "prompt");
  const uint64_t n_ids = uint64_t{limits.n_vocab} * limits.n_types;
  for (const TokenId id : prompt) {
    if (to_index(id) < 0 || static_cast<uint64_t>(to_index(id)) >= n_ids) {
      return invalid_argument(fmt::format("prompt: expected token ids below {}, actual {}", n_ids, to_index(id)),
                              "prompt");
    }
  }
  if (prompt.size() > limits.n_ctx) {
    return context_length_exceeded(fmt::format("the prompt has {} tokens, the context {}", prompt.size(), limits.n_ctx),
                                   "prompt", prompt.size(), limits.n_ctx);
  }
  return {};
}

constexpr size_t kMaxNumbers = size_t{16} << 20;  // in all vectors of a text

Status check_pooling(const Request& request, const SequenceLimits& limits) {
  if (limits.is_bidirectional && request.pooling == Pooling::kNone) {
    return unsupported("the model is an encoder, which makes vectors or scores and does not generate text", "pooling");
  }
  if (limits.n_labels > 0 && request.pooling == Pooling::kNone) {
    return unsupported("the model is a reranker, which scores texts and does not generate any", "pooling");
  }
  if (request.pooling == Pooling::kFirst && !limits.is_bidirectional) {
    return unsupported("pooling: the first token of a decoder sees no other token", "pooling");
  }
  if (request.pooling == Pooling::kAll && request.prompt.size() * limits.d_model > kMaxNumbers) {
    return invalid_argument(fmt::format("prompt: its vectors would have {} numbers, expected at most {}",
                                        request.prompt.size() * limits.d_model, kMaxNumbers),
                            "prompt");
  }
  if (request.pooling == Pooling::kRank && limits.n_labels == 0) {
    return unsupported("the model cannot score texts: it has no layer for that", "pooling");
  }
  return {};
}

Status check(const Request& request, const SequenceLimits& limits) {
  RZ_CHECK_OK(check_pooling(request, limits));
  RZ_CHECK_OK(check_prompt(request.prompt, limits));
  if (request.n_logprobs > limits.n_vocab) {
    return invalid_argument(
        fmt::format("n_logprobs: expected at most {}, actual {}", limits.n_vocab, request.n_logprobs), "n_logprobs");
  }
  return validate(request.sampling, limits.n_vocab);
}

}  // namespace

Result<SequencePtr> make_sequence(const Request& request, RequestSink& sink, const SequenceLimits& limits,
                                  kv::CachePools pools, uint64_t cache_salt) {
  RZ_CHECK_OK(check(request, limits));
  auto sequence = std::make_unique<Sequence>();
  sequence->request = &request;
  sequence->sink = &sink;
  sequence->arrived = Sequence::Clock::now();
  if (request.timeout_ms) sequence->deadline = sequence->arrived + std::chrono::milliseconds(*request.timeout_ms);
  sequence->n_prompt = static_cast<uint32_t>(request.prompt.size());
  sequence->ending.stats.n_prompt = sequence->n_prompt;
  const uint32_t n_room = n_answer_room(limits.n_ctx, sequence->n_prompt);
  if (request.pooling == Pooling::kNone) sequence->n_wanted = std::min(request.max_tokens.value_or(n_room), n_room);
  const bool wants_all =
      request.pooling == Pooling::kMean || request.pooling == Pooling::kAll || request.prompt_logprobs;
  const bool wants_last = request.pooling != Pooling::kNone || sequence->n_wanted > 0;
  sequence->wants_first =
      request.pooling == Pooling::kFirst || (request.pooling == Pooling::kRank && limits.is_bidirectional);
  sequence->first_wanted = wants_all || sequence->wants_first ? 0 : sequence->n_prompt - (wants_last ? 1 : 0);
  sequence->tokens.reserve(size_t{sequence->n_prompt} + sequence->n_wanted);
  sequence->tokens.assign(request.prompt.begin(), request.prompt.end());
  sequence->drafts.reserve(limits.max_drafts);
  sequence->lookup.tokens.reserve(limits.max_drafts);
  const uint32_t max_rollback = pools.states != nullptr ? limits.max_drafts : 0;
  sequence->cache_salt = cache_salt;
  const uint32_t max_positions = std::min(limits.n_ctx, sequence->n_prompt + sequence->n_wanted);
  sequence->cache = kv::SequenceCache(pools, cache_salt, request.tenant, max_positions, max_rollback);
  if (request.trace) sequence->operations = std::make_unique<OpTable>();
  size_t n_pooled = request.pooling == Pooling::kRank ? limits.n_labels : limits.d_model;
  if (request.pooling == Pooling::kAll) n_pooled *= sequence->n_prompt;
  if (request.pooling != Pooling::kNone) sequence->embedding.assign(n_pooled, 0.0f);
  return sequence;
}

FinishReason Sequence::reason_when_full() const {
  return request->max_tokens == n_wanted ? FinishReason::kLength : FinishReason::kContext;
}

void Sequence::give_back() {
  cache.release();
  drafts.clear();
  lookup.clear();
  leader = SeqId{0};
}

void Sequence::finish(FinishReason reason) {
  if (ended) return;
  ended = reason;
  if (reason != FinishReason::kError) cache.offer_tail(tokens);
  give_back();
}

void Sequence::fail(Error error) {
  failure = std::move(error);
  ending.error = &*failure;
  finish(FinishReason::kError);
}

}  // namespace realizar::engine
