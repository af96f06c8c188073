#include "server/call/timings.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace realizar::server {
namespace {

double ms_per_token(uint32_t n_tokens, double ms) {
  return n_tokens > 0 ? ms / n_tokens : 0;
}

double tokens_per_second(uint32_t n_tokens, double ms) {
  return ms > 0 ? 1e3 * n_tokens / ms : 0;
}

constexpr Field<AnswerExtras> kExtraFields[] = {{"timings_per_token", take_flag<&AnswerExtras::timings>},
                                                {"return_progress", take_flag<&AnswerExtras::progress>},
                                                {"verbose", take_flag<&AnswerExtras::verbose>}};

}  // namespace

Timings timings_of(const GenerationStats& stats) {
  return {.n_prompt = stats.n_prompt,
          .n_cached = stats.n_cached,
          .n_generated = stats.n_generated,
          .n_drafted = stats.n_drafted,
          .n_accepted = stats.n_accepted,
          .prompt_ms = stats.prefill_ms,
          .decode_ms = stats.n_generated > 1 ? stats.decode_ms : 0};
}

Timings timings_of(const engine::TokenStream::Progress& progress) {
  return {.n_prompt = progress.n_computed, .n_cached = progress.n_cached, .prompt_ms = progress.ms};
}

Json timings_json(const Timings& timings) {
  const uint32_t n_computed = timings.n_prompt - std::min(timings.n_cached, timings.n_prompt);
  const uint32_t n_decoded = std::max(timings.n_generated, 1u) - 1;
  Json json{{"cache_n", timings.n_cached},
            {"prompt_n", n_computed},
            {"prompt_ms", timings.prompt_ms},
            {"prompt_per_token_ms", ms_per_token(n_computed, timings.prompt_ms)},
            {"prompt_per_second", tokens_per_second(n_computed, timings.prompt_ms)},
            {"predicted_n", timings.n_generated},
            {"predicted_ms", timings.decode_ms},
            {"predicted_per_token_ms", ms_per_token(n_decoded, timings.decode_ms)},
            {"predicted_per_second", tokens_per_second(n_decoded, timings.decode_ms)}};
  if (timings.n_drafted > 0) {
    json["draft_n"] = timings.n_drafted;
    json["draft_n_accepted"] = timings.n_accepted;
  }
  return json;
}

Json progress_json(const engine::TokenStream::Progress& progress, size_t n_prompt) {
  return {
      {"total", n_prompt}, {"cache", progress.n_cached}, {"processed", progress.n_computed}, {"time_ms", progress.ms}};
}

Status read_answer_extras(Fields& body, AnswerExtras& into) {
  return read_fields(kExtraFields, body, into);
}

KnownFields extra_fields() {
  return known_in(kExtraFields);
}

}  // namespace realizar::server
