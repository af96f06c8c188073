// The one engine: run, server, benchmark and library hand it a Request and read tokens. It owns the sequences, the KV
// blocks and the step loop. One thread at a time may call, save cancel(); a decode step allocates, locks and prints
// nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "engine/batch_builder.h"
#include "engine/scheduler.h"
#include "engine/sequence.h"
#include "kv/block_pool.h"
#include "model/decoder.h"
#include "model/model.h"
#include "realizar/request.h"
#include "realizar/result.h"
#include "sampling/sampler.h"

namespace realizar {

struct EngineOptions {
  uint32_t n_ctx = 0;               // positions a sequence, 1 or more
  uint32_t max_seqs = 1;            // requests that run together
  uint32_t max_batch_tokens = 512;  // rows a step: the chunk in which prompts are prefilled; at least max_seqs
  uint32_t block_tokens = 32;
  KvType kv_type = KvType::kF16;
};

class Engine {
 public:
  // What the backend must be configured with before the model is loaded on it.
  static BackendLimits limits_for(const EngineOptions& options);

  // Creates cache, decoder and all buffers. `model` and `backend` must outlive the engine. `end_tokens` stop every
  // request that does not ignore them. Errors: ResourceExhausted, Unsupported (KV type).
  static Result<std::unique_ptr<Engine>> create(const Model& model, Backend& backend, std::vector<TokenId> end_tokens,
                                                const EngineOptions& options);

  // Runs one request to its end. A common beginning with earlier requests is taken from the cache. Errors:
  // InvalidArgument (empty prompt, id outside the vocabulary, a sampling parameter out of range, by name),
  // ContextLengthExceeded (both numbers, before any computation), Internal.
  Result<Generation> generate(const Request& request, const TokenCallback& on_token);
  // The same for up to max_seqs requests, in one batch; each gives the tokens that it gives alone.
  Result<std::vector<Generation>> generate_all(std::span<const Request> requests);

  // Logits of the last n_last tokens of `tokens`, [n_last, n_vocab]. The first n_prompt tokens are computed by the
  // prefill arithmetic, the others one at a time by the decode arithmetic. Uses no cached prefix.
  Result<std::vector<float>> logits(std::span<const TokenId> tokens, uint32_t n_prompt, uint32_t n_last);

  // Ends a running generate with kCancelled, within one step. Any thread; one atomic store.
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }

  // Forgets all cached prefixes.
  void clear_cache() { pool_.forget_names(); }
  uint32_t n_ctx() const { return options_.n_ctx; }

  // Called after every step, while its trace can be read.
  void set_step_observer(std::function<void()> observer) { observer_ = std::move(observer); }

 private:
  Engine(const Model& model, const Decoder& decoder, std::vector<TokenId> end_tokens, const EngineOptions& options);

  Status check(const Request& request) const;
  Status check_tokens(std::span<const TokenId> tokens) const;
  std::span<Sequence> running() { return std::span(sequences_).first(n_running_); }
  Status run(std::span<const Request> requests, std::span<Generation> generations, const TokenCallback& on_token);
  Status begin(const Request& request, Generation& generation);
  void find_cached_prefix(Sequence& sequence);
  Status ensure_blocks(Sequence& sequence, uint32_t n_positions);
  void name_prompt_blocks(Sequence& sequence);
  void release_blocks(Sequence& sequence);
  Status run_step(const StepBatch& batch);
  Status step();
  void take_tokens(const TokenCallback& on_token);
  void take_token(Sequence& sequence, std::span<const float> logits, const TokenCallback& on_token);
  bool is_stop(const Request& request, TokenId id) const;
  bool report(const Sequence& sequence, std::span<const float> logits, const TokenCallback& on_token);
  void finish(Sequence& sequence, FinishReason reason);
  void remove_finished();

  const ModelConfig& config_;
  Decoder decoder_;
  std::vector<TokenId> end_tokens_;
  EngineOptions options_;
  BlockPool pool_;
  Sampler sampler_;
  BatchBuilder batch_builder_;
  std::vector<Sequence> sequences_;  // those that run first, in order of arrival
  uint32_t n_running_ = 0;
  std::vector<PlannedChunk> plan_;
  uint64_t n_sequences_ = 0;
  std::atomic<bool> cancelled_{false};
  std::function<void()> observer_;
};

}  // namespace realizar
