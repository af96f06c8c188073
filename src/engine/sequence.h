// A request in progress: its tokens, its blocks, how far it is computed. All capacity is reserved at creation, so that
// the engine's steps allocate nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/adapters.h"
#include "engine/op_table.h"
#include "engine/request_sink.h"
#include "engine/speculation.h"
#include "kv/sequence_cache.h"
#include "realizar/request.h"
#include "realizar/result.h"
#include "sampling/sampler_state.h"

namespace realizar::engine {

struct Sequence {
  using Clock = std::chrono::steady_clock;

  SeqId id{};  // in order of arrival
  const Request* request = nullptr;
  RequestSink* sink = nullptr;
  uint32_t n_wanted = 0;  // the most tokens to generate
  Clock::time_point arrived, first_step, first_token, last_token;
  std::optional<Clock::time_point> deadline;
  double device_ms = 0;  // time of the backend in its steps since its last token

  AdapterHold adapter;                  // for its rows, or none
  uint64_t cache_salt = 0;              // the request's, combined with the adapter's
  std::vector<TokenId> tokens;          // prompt, then output
  SamplerState sampler;                 // after the last token
  std::vector<TokenId> drafts;          // speculative tokens to verify in the next step
  uint32_t n_right = 0;                 // how many of the last step's were right
  PromptLookup lookup;                  // drafts are its first tokens; empty if a model made them
  HitRates hit_rates;                   // of speculative tokens
  kv::SequenceCache cache;              // of the tokens' keys and values
  std::vector<float> embedding;         // [d_model], the sum of hidden states so far; or all of them; or scores
  std::unique_ptr<OpTable> operations;  // of its steps; null: no trace is wanted
  uint32_t n_prompt = 0;
  uint32_t first_wanted = 0;  // position of the first unread row whose logits or hidden state are wanted
  bool wants_first = false;   // only those of the first row
  bool wants_logits = false;  // those of all rows from there on, for its sink
  SeqId leader{};             // computes a prefix that this one shares and waits for; 0: none
  uint32_t n_shared = 0;      // tokens that the leader will have computed by then

  bool has_mask = false;   // for a constrained request: the tokens that may come next are computed
  uint64_t mask_work = 0;  // work on the mask so far

  std::optional<FinishReason> ended;
  std::optional<Error> failure;  // an error of this request only; `ending` points to it
  Ending ending;

  uint32_t n_known() const { return static_cast<uint32_t>(tokens.size()); }
  uint32_t n_computed() const { return cache.n_computed(); }
  bool is_decoding() const { return n_computed() >= n_prompt; }
  // It sits out steps until the mask is ready.
  bool lacks_mask() const { return request->constraint != nullptr && !has_mask; }
  uint32_t n_generated() const { return n_known() - n_prompt; }
  // Why it ends with all its tokens: the request asked for no more, or the context is full.
  FinishReason reason_when_full() const;

  // Releases its blocks and drops its speculative tokens.
  void give_back();
  // Does that for good. Its blocks are free at once; its sink is notified when the step's results are all taken.
  void finish(FinishReason reason);
  // Finishes with an error of this request only.
  void fail(Error error);
};

// Tokens that fit the context after a prompt of at most n_ctx tokens. The last one needs no position, so there is
// always one.
inline uint32_t n_answer_room(uint32_t n_ctx, uint32_t n_prompt) {
  return n_prompt < n_ctx ? n_ctx - n_prompt : 1;
}

// Limits for the check of a request.
struct SequenceLimits {
  uint32_t n_ctx, n_vocab, d_model, max_drafts;
  uint32_t n_types = 1;           // of tokens: the type is the upper part of an id
  uint32_t n_labels = 0;          // scores that the model gives
  bool is_bidirectional = false;  // the model only gives vectors or scores
};

// Checks a request and allocates what its steps need. Any thread. `request` and `sink` must outlive the sequence; only
// sequences with the same salt share prefixes. Errors: InvalidArgument, ContextLengthExceeded.
Result<SequencePtr> make_sequence(const Request& request, RequestSink& sink, const SequenceLimits& limits,
                                  kv::CachePools pools, uint64_t cache_salt);

inline double elapsed_ms(Sequence::Clock::time_point from, Sequence::Clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

}  // namespace realizar::engine
