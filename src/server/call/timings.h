// The times of one answer, in the format of llama.cpp's server.
#pragma once

#include <cstdint>

#include "engine/token_stream.h"
#include "realizar/request.h"
#include "server/http/field_table.h"
#include "server/http/json.h"

namespace realizar::server {

struct Timings {
  uint32_t n_prompt = 0, n_cached = 0;  // tokens of the prompt, and how many of them were cached
  uint32_t n_generated = 0;
  uint32_t n_drafted = 0, n_accepted = 0;
  double prompt_ms = 0, decode_ms = 0;  // up to the first token, and after it
};

Timings timings_of(const GenerationStats& stats);
// The timings of a prompt with that progress.
Timings timings_of(const engine::TokenStream::Progress& progress);

// {cache_n, prompt_n, prompt_ms, prompt_per_token_ms, prompt_per_second, predicted_n, predicted_ms,
// predicted_per_token_ms, predicted_per_second}, with speculation also draft_n and draft_n_accepted. The first token is
// part of the prompt: rates of generation refer to the tokens after it. Rates of nothing are 0.
Json timings_json(const Timings& timings);

// {total, cache, processed, time_ms} for a prompt with n_prompt tokens.
Json progress_json(const engine::TokenStream::Progress& progress, size_t n_prompt);

// Additional data in answers that llama.cpp's clients may request.
struct AnswerExtras {
  bool timings = false;   // timings_per_token
  bool progress = false;  // return_progress, for streams
  bool verbose = false;
};
// Reads timings_per_token, return_progress and verbose.
Status read_answer_extras(Fields& body, AnswerExtras& into);
KnownFields extra_fields();

}  // namespace realizar::server
