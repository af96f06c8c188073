// How the engine tells of a request: its tokens as they come, and its end.
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

// How a request ended. The spans are valid during the call that brings it.
struct Ending {
  FinishReason reason = FinishReason::kStop;
  std::optional<TokenId> stop_token;  // the one that ended it
  std::span<const TokenId> tokens;    // what was generated
  std::span<const float> embedding;  // [d_model], where the request wants pooling; or as many for each token; or scores
  GenerationStats stats;
  const OpTable* operations = nullptr;  // where the request wants a trace
  const Error* error = nullptr;         // for kError
};

// Who reads a request's tokens. Called on the engine's thread, inside a step: it must neither wait nor allocate much.
class RequestSink {
 public:
  virtual ~RequestSink() = default;
  // False: no more is wanted; the request ends with kCancelled.
  virtual bool on_token(const TokenEvent& event) = 0;
  // `n_computed` tokens of the prompt lie in the cache, `n_cached` of them since before; `ms` since its first step. Not
  // after the first token.
  virtual void on_prompt(uint32_t /*n_cached*/, uint32_t /*n_computed*/, double /*ms*/) {}
  // The logits after the next position, [n_vocab], of a sequence that wants them.
  virtual void on_logits(std::span<const float> /*logits*/) {}
  // Before those: the next n_rows positions of a sequence that wants logits lie in its cache, and are not committed
  // yet.
  virtual void on_rows(const Sequence& /*sequence*/, uint32_t /*n_rows*/) {}
  // Once, as the last call.
  virtual void on_end(const Ending& ending) noexcept = 0;
  // Asked before every step; any thread may have made it true.
  virtual bool is_cancelled() const { return false; }
};

}  // namespace realizar::engine
