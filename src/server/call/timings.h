// The times of one answer, as llama.cpp's server tells them beside it.
#pragma once

#include <cstdint>

#include "engine/token_stream.h"
#include "realizar/request.h"
#include "server/http/field_table.h"
#include "server/http/json.h"

namespace realizar::server {

struct Timings {
  uint32_t n_prompt = 0, n_cached = 0;  // tokens of the prompt, and how many of them the cache had
  uint32_t n_generated = 0;
  uint32_t n_drafted = 0, n_accepted = 0;
  double prompt_ms = 0, decode_ms = 0;  // up to the first token, and from there on
};

Timings timings_of(const GenerationStats& stats);
// Those of a prompt that is that far.
Timings timings_of(const engine::TokenStream::Progress& progress);

// {cache_n, prompt_n, prompt_ms, prompt_per_token_ms, prompt_per_second, predicted_n, predicted_ms,
// predicted_per_token_ms, predicted_per_second}, where tokens were guessed draft_n and draft_n_accepted too. The first
// token comes with the prompt: the rates of generation are those of the tokens after it. Rates of nothing are 0.
Json timings_json(const Timings& timings);

// {total, cache, processed, time_ms} of a prompt with n_prompt tokens.
Json progress_json(const engine::TokenStream::Progress& progress, size_t n_prompt);

// What llama.cpp's clients ask to be told beside answers.
struct AnswerExtras {
  bool timings = false;   // timings_per_token
  bool progress = false;  // return_progress, of streams
  bool verbose = false;
};
// Reads timings_per_token, return_progress and verbose.
Status read_answer_extras(Fields& body, AnswerExtras& into);
KnownFields extra_fields();

}  // namespace realizar::server
