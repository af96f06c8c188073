// The one engine: run, server, benchmark and library hand it a Request and read tokens. It owns the sequences, the KV
// blocks and the step loop. One thread at a time may call; nothing in a decode step allocates, locks or prints.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "model/decoder.h"
#include "model/model.h"
#include "realizar/request.h"
#include "realizar/result.h"

namespace realizar {

struct EngineOptions {
  uint32_t n_ctx = 0;  // positions a sequence; 0: the model's
  uint32_t max_seqs = 1;
  uint32_t max_batch_tokens = 512;  // rows a step: the chunk in which prompts are prefilled
  uint32_t block_tokens = 32;
  KvType kv_type = KvType::kF16;
  bool prefix_cache = true;  // keep the last sequence's blocks and skip the prefill of a common prefix
};

class Engine {
 public:
  // `model` is loaded on `backend`, whose limits are configured from limits_for(). Creates cache, decoder and all
  // buffers. Both must outlive the engine.
  static Result<std::unique_ptr<Engine>> create(const Model& model, Backend& backend, std::vector<TokenId> end_tokens,
                                                const EngineOptions& options);
  static BackendLimits limits_for(const EngineOptions& options);

  virtual ~Engine() = default;

  // Runs one request to its end. Errors: InvalidArgument (empty prompt, id outside the vocabulary, a sampling parameter
  // out of range, by name), ContextLengthExceeded (both numbers, before any computation), Internal.
  virtual Result<Generation> generate(const Request& request, const TokenCallback& on_token) = 0;

  // Logits of the last n_last tokens of `tokens`, [n_last, n_vocab]. The first n_prompt tokens are computed by the
  // prefill arithmetic, the others one at a time by the decode arithmetic. Bypasses the prefix cache.
  virtual Result<std::vector<float>> logits(std::span<const TokenId> tokens, uint32_t n_prompt, uint32_t n_last) = 0;

  // Forgets all cached prefixes.
  virtual void clear_cache() = 0;
  virtual uint32_t n_ctx() const = 0;
};

}  // namespace realizar
