// Callbacks by which the engine reports on a request: its tokens as they are chosen, and its end.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "realizar/generation.h"
#include "realizar/result.h"

namespace realizar::engine {

class OpTable;
struct Sequence;
using SequencePtr = std::unique_ptr<Sequence>;

// How a request ended. The spans are valid only during the call.
struct Ending {
  FinishReason reason = FinishReason::kStop;
  std::optional<TokenId> stop_token;  // the token that ended it
  std::span<const TokenId> tokens;    // the answer's
  std::span<const float> embedding;   // [d_model] if the request wants pooling; or as many for each token; or scores
  GenerationStats stats;
  const OpTable* operations = nullptr;  // if the request wants a trace
  const Error* error = nullptr;         // for kError
};

// The reader of a request's tokens. Called on the engine's thread, inside a step: it must neither wait nor allocate
// much.
class RequestSink {
 public:
  virtual ~RequestSink() = default;
  // False: no more tokens are wanted; the request ends with kCancelled.
  virtual bool on_token(const TokenEvent& event) = 0;
  // `n_computed` tokens of the prompt are in the cache, of which `n_cached` were there before; `ms` since its first
  // step. Not called after the first token.
  virtual void on_prompt(uint32_t /*n_cached*/, uint32_t /*n_computed*/, double /*ms*/) {}
  // The logits after the next position, [n_vocab], for a sequence that wants them.
  virtual void on_logits(std::span<const float> /*logits*/) {}
  // Called before those: the next n_rows positions of a sequence that wants logits are in its cache, not committed yet.
  virtual void on_rows(const Sequence& /*sequence*/, uint32_t /*n_rows*/) {}
  // Called once, as the last call.
  virtual void on_end(const Ending& ending) noexcept = 0;
  // Polled before every step; any thread may make it true.
  virtual bool is_cancelled() const { return false; }
};

}  // namespace realizar::engine
