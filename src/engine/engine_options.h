// What an engine is made with.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "backend/state_layout.h"
#include "engine/fair_share.h"
#include "engine/guesses.h"

namespace realizar {
struct SequenceBreakers;
}

namespace realizar::engine {

struct EngineOptions {
  uint32_t n_ctx = 0;               // positions a sequence, 1 or more
  uint32_t max_seqs = 1;            // requests that run together
  uint32_t max_batch_tokens = 512;  // rows a step: the chunk in which prompts are prefilled; at least max_seqs
  uint32_t max_prefill_tokens = 0;  // prompt tokens of a step in which others decode; 0: what keeps their pace even
  uint32_t kv_tokens = 0;           // positions that the cache holds in all; 0: n_ctx for each of max_seqs
  // States of recurrent layers that are kept for prefixes to be found again, in addition to the slots that requests
  // may need, which serve for it too while these do not; 0: as many as a gigabyte holds, at least 2 and at most one for
  // each of max_seqs and two more. Models without such layers keep none.
  uint32_t n_kept_states = 0;
  uint32_t n_draft = 0;  // tokens to guess in every step; 0: none, or with `guesses` some
  // As many tokens as the steps' times and the hits so far make worth their rows; with n_draft 0. From the text so far
  // only without layers that keep states.
  bool guesses = false;
  uint32_t block_tokens = 32;
  KvType kv_type = KvType::kF16;
  PriorityScope priority_scope = PriorityScope::kTenant;
  // Every prompt is computed whole, in one step, and ends there: its tokens see each other, and none comes next. A step
  // has room for the longest; prompts share steps, and no prefixes.
  bool whole_prompts = false;
  bool choose_on_host = false;  // every token from its logits, also where the backend could choose it
  bool idle_prefill = true;     // while idle, compute answers again as prompts where that has an arithmetic of its own
  uint64_t host_kv_bytes = 0;   // of the host's memory, for cached prefixes that the device has no room for
  // Gives the breakers of requests with DRY that name none. Any thread; null: there are none.
  std::function<std::shared_ptr<const SequenceBreakers>()> make_breakers = {};

  // Tokens of a sequence that are guessed in a step at most.
  uint32_t max_drafts() const { return n_draft == 0 && guesses ? kMaxGuesses : n_draft; }
};

}  // namespace realizar::engine
