// One request on its way: its tokens, its blocks, how far it is computed. All capacity is reserved when it is made, so
// that the engine's steps allocate nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/adapters.h"
#include "engine/guesses.h"
#include "engine/op_table.h"
#include "engine/request_sink.h"
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
  uint32_t n_wanted = 0;  // tokens to generate at most
  Clock::time_point arrived, first_step, first_token, last_token;
  std::optional<Clock::time_point> deadline;
  double device_ms = 0;  // that the backend computed its steps for, since its last token

  AdapterHold adapter;                  // of its rows, or none
  uint64_t cache_salt = 0;              // the request's, and the adapter's
  std::vector<TokenId> tokens;          // prompt, then output
  SamplerState sampler;                 // after the last token
  std::vector<TokenId> drafts;          // what may come next, to be verified in the next step
  uint32_t n_right = 0;                 // of those of the last step
  Guess guess;                          // of which these are the first tokens; empty where a model guessed
  HitRates hit_rates;                   // of guesses
  kv::SequenceCache cache;              // of the tokens' keys and values
  std::vector<float> embedding;         // [d_model], the sum of hidden states so far; or all of them; or scores
  std::unique_ptr<OpTable> operations;  // of its steps; null: no trace is wanted
  uint32_t n_prompt = 0;
  uint32_t first_wanted = 0;  // position of the first row whose logits or hidden state are wanted, and were not read
  bool wants_first = false;   // that is the first one's alone
  bool wants_logits = false;  // those of all rows from there on, for its sink
  SeqId leader{};             // computes a prefix that this one shares, and is waited for; 0: none
  uint32_t n_shared = 0;      // tokens that the leader then has computed

  bool has_mask = false;   // what may come next, where the request is held to a form, has been computed
  uint64_t mask_work = 0;  // done for it so far

  std::optional<FinishReason> ended;
  std::optional<Error> failure;  // its own alone; `ending` points to it
  Ending ending;

  uint32_t n_known() const { return static_cast<uint32_t>(tokens.size()); }
  uint32_t n_computed() const { return cache.n_computed(); }
  bool is_decoding() const { return n_computed() >= n_prompt; }
  // It sits out steps until what may come next is known.
  bool lacks_mask() const { return request->constraint != nullptr && !has_mask; }
  uint32_t n_generated() const { return n_known() - n_prompt; }
  // Why it ends when it has all the tokens that it wanted: the request asked for no more, or the context holds no more.
  FinishReason reason_when_full() const;

  // Gives its blocks and guesses back.
  void give_back();
  // The same for good. Its blocks are back at once; its sink hears of it when the step's results are all taken.
  void finish(FinishReason reason);
  // The same by an error that is its own alone.
  void fail(Error error);
};

// Tokens that fit the context after a prompt of at most n_ctx tokens. The last one needs no position, so there is
// always one.
inline uint32_t n_answer_room(uint32_t n_ctx, uint32_t n_prompt) {
  return n_prompt < n_ctx ? n_ctx - n_prompt : 1;
}

// What a request is checked against.
struct SequenceLimits {
  uint32_t n_ctx, n_vocab, d_model, max_drafts;
  uint32_t n_types = 1;     // of tokens: the type is the upper part of an id
  uint32_t n_labels = 0;    // scores that the model gives
  bool sees_later = false;  // the model gives vectors or scores alone
};

// Checks a request and makes what its steps need. Any thread. `request` and `sink` must outlive the sequence; only
// sequences of one salt share prefixes. Errors: InvalidArgument, ContextLengthExceeded.
Result<SequencePtr> make_sequence(const Request& request, RequestSink& sink, const SequenceLimits& limits,
                                  kv::CachePools pools, uint64_t cache_salt);

inline double elapsed_ms(Sequence::Clock::time_point from, Sequence::Clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

}  // namespace realizar::engine
