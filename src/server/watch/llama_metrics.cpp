#include <algorithm>

#include "server/watch/metrics.h"

namespace realizar::server {
namespace {

double rate(uint64_t n, double seconds) {
  return seconds > 0 ? static_cast<double>(n) / seconds : 0;
}

}  // namespace

Families llama_metrics(std::span<const ModelState> models) {
  engine::EngineCounters all;
  uint64_t n_prompt = 0;
  for (const ModelState& model : models) {
    const engine::EngineCounters& c = *model.counters;
    all.add_counts(c);
    all.n_running += c.n_running;
    all.n_waiting += c.n_waiting;
    // A prompt's cached tokens are counted when it is admitted, and all its tokens with its first output token.
    n_prompt += c.n_prompt_tokens - std::min(c.n_prefix_hits.load(), c.n_prompt_tokens.load());
  }
  const double prefill_s = all.prefill_steps.sum_s, decode_s = all.decode_steps.sum_s;
  const uint64_t n_generated = all.n_generated_tokens, n_steps = all.prefill_steps.n + all.decode_steps.n;
  Families families;
  const auto add = [&](const char* name, MetricType type, const char* help, const auto& value) {
    add_family(families, name, type, help, {sample_of({}, static_cast<double>(value))});
  };
  add("llamacpp:prompt_tokens_total", MetricType::Counter, "Prompt tokens computed.", n_prompt);
  add("llamacpp:prompt_tokens_cached_total", MetricType::Counter, "Prompt tokens found in the cache.",
      all.n_prefix_hits);
  add("llamacpp:prompt_seconds_total", MetricType::Counter, "Time of steps with prompt tokens.", prefill_s);
  add("llamacpp:prompt_tokens_seconds", MetricType::Gauge, "Prompt tokens a second.", rate(n_prompt, prefill_s));
  add("llamacpp:tokens_predicted_total", MetricType::Counter, "Tokens generated.", n_generated);
  add("llamacpp:tokens_predicted_seconds_total", MetricType::Counter, "Time of steps without prompt tokens.", decode_s);
  add("llamacpp:predicted_tokens_seconds", MetricType::Gauge, "Generated tokens a second.",
      rate(n_generated, decode_s));
  add("llamacpp:requests_processing", MetricType::Gauge, "Requests in the batch.", all.n_running);
  add("llamacpp:requests_deferred", MetricType::Gauge, "Requests that wait.", all.n_waiting);
  add("llamacpp:n_decode_total", MetricType::Counter, "Steps.", n_steps);
  add("llamacpp:n_busy_slots_per_decode", MetricType::Gauge, "Sequences a step.",
      rate(all.n_step_seqs, static_cast<double>(n_steps)));
  add("llamacpp:n_tokens_max", MetricType::Counter, "Tokens of the longest sequence so far.", all.n_tokens_max);
  add("llamacpp:spec_decode_num_drafts_total", MetricType::Counter, "Times that tokens were guessed ahead.",
      all.n_drafts);
  add("llamacpp:spec_decode_num_draft_tokens_total", MetricType::Counter, "Tokens guessed ahead.", all.n_drafted);
  add("llamacpp:spec_decode_num_accepted_tokens_total", MetricType::Counter, "Guessed tokens that were right.",
      all.n_accepted);
  return families;
}

}  // namespace realizar::server
