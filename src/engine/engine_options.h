// Options for the creation of an engine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "backend/state_layout.h"
#include "engine/fair_share.h"
#include "engine/speculation.h"

namespace realizar {
struct SequenceBreakers;
}

namespace realizar::engine {

struct EngineOptions {
  uint32_t n_ctx = 0;               // positions for each sequence, 1 or more
  uint32_t max_seqs = 1;            // requests that run at the same time
  uint32_t max_batch_tokens = 512;  // rows in a step: the chunk in which prompts are prefilled; at least max_seqs
  uint32_t max_prefill_tokens = 0;  // prompt tokens in a step while others decode; 0: chosen to keep their pace even
  uint32_t kv_tokens = 0;           // positions of the cache in total; 0: n_ctx for each of max_seqs
  // States of recurrent layers that are kept for cached prefixes, in addition to the slots for running requests (which
  // also keep states while they are idle). 0: as many as fit in a gigabyte, at least 2 and at most two more than
  // max_seqs. Models without such layers keep none.
  uint32_t n_kept_states = 0;
  uint32_t n_draft = 0;  // speculative tokens in every step; 0: none, or with `speculates` as many as pay off
  // With n_draft 0: as many speculative tokens as pay off, judged by the steps' times and the hits so far. They come
  // from the text so far only for models without recurrent layers.
  bool speculates = false;
  uint32_t block_tokens = 32;
  KvType kv_type = KvType::kF16;
  PriorityScope priority_scope = PriorityScope::kTenant;
  // Every prompt is computed whole, in one step, and ends there: its tokens see each other, and no token is generated.
  // A step has room for the longest prompt; prompts share steps, but no prefixes.
  bool whole_prompts = false;
  bool choose_on_host = false;  // compute every token from its logits, even if the backend could choose it
  bool idle_prefill = true;     // while idle, recompute answers as prompts if prefill has its own arithmetic
  uint64_t host_kv_bytes = 0;   // host memory for cached prefixes that do not fit on the device
  // Provides the breakers for requests with DRY that name none. Any thread; null: none.
  std::function<std::shared_ptr<const SequenceBreakers>()> make_breakers = {};

  // The most speculative tokens of a sequence in a step.
  uint32_t max_drafts() const { return n_draft == 0 && speculates ? kMaxSpeculated : n_draft; }
};

}  // namespace realizar::engine
