#include "server/watch/llama_metrics.h"

#include <algorithm>

namespace realizar::server {
namespace {

struct LlamaCounts {
  uint64_t n_prompt = 0, n_cached = 0, n_generated = 0;
  uint64_t n_running = 0, n_waiting = 0, n_steps = 0, n_step_seqs = 0, n_tokens_max = 0;
  uint64_t n_drafts = 0, n_drafted = 0, n_accepted = 0;
  double prefill_s = 0, decode_s = 0;
};

// A prompt's cached tokens are counted when it is admitted, and all of them with its first token.
LlamaCounts counts_of(std::span<const ModelState> models) {
  LlamaCounts all;
  for (const ModelState& model : models) {
    const engine::EngineCounters& c = *model.counters;
    const uint64_t n_cached = c.n_prefix_hits, n_prompt = c.n_prompt_tokens;
    all.n_cached += n_cached;
    all.n_prompt += n_prompt - std::min(n_cached, n_prompt);
    all.n_generated += c.n_generated_tokens;
    all.n_running += c.n_running;
    all.n_waiting += c.n_waiting;
    all.n_steps += c.prefill_steps.n + c.decode_steps.n;
    all.n_step_seqs += c.n_step_seqs;
    all.n_tokens_max = std::max<uint64_t>(all.n_tokens_max, c.n_tokens_max);
    all.n_drafts += c.n_drafts;
    all.n_drafted += c.n_drafted;
    all.n_accepted += c.n_accepted;
    all.prefill_s += c.prefill_steps.sum_s;
    all.decode_s += c.decode_steps.sum_s;
  }
  return all;
}

double rate(uint64_t n, double seconds) {
  return seconds > 0 ? static_cast<double>(n) / seconds : 0;
}

}  // namespace

Families llama_metrics(std::span<const ModelState> models) {
  const LlamaCounts counts = counts_of(models);
  Families families;
  const auto add = [&](const char* name, MetricType type, const char* help, auto value) {
    add_family(families, name, type, help, {sample_of({}, static_cast<double>(value))});
  };
  add("llamacpp:prompt_tokens_total", MetricType::Counter, "Prompt tokens computed.", counts.n_prompt);
  add("llamacpp:prompt_tokens_cached_total", MetricType::Counter, "Prompt tokens found in the cache.", counts.n_cached);
  add("llamacpp:prompt_seconds_total", MetricType::Counter, "Time of steps with prompt tokens.", counts.prefill_s);
  add("llamacpp:prompt_tokens_seconds", MetricType::Gauge, "Prompt tokens a second.",
      rate(counts.n_prompt, counts.prefill_s));
  add("llamacpp:tokens_predicted_total", MetricType::Counter, "Tokens generated.", counts.n_generated);
  add("llamacpp:tokens_predicted_seconds_total", MetricType::Counter, "Time of steps without prompt tokens.",
      counts.decode_s);
  add("llamacpp:predicted_tokens_seconds", MetricType::Gauge, "Generated tokens a second.",
      rate(counts.n_generated, counts.decode_s));
  add("llamacpp:requests_processing", MetricType::Gauge, "Requests in the batch.", counts.n_running);
  add("llamacpp:requests_deferred", MetricType::Gauge, "Requests that wait.", counts.n_waiting);
  add("llamacpp:n_decode_total", MetricType::Counter, "Steps.", counts.n_steps);
  add("llamacpp:n_busy_slots_per_decode", MetricType::Gauge, "Sequences a step.",
      counts.n_steps > 0 ? static_cast<double>(counts.n_step_seqs) / static_cast<double>(counts.n_steps) : 0.0);
  add("llamacpp:n_tokens_max", MetricType::Counter, "Tokens of the longest sequence so far.", counts.n_tokens_max);
  add("llamacpp:spec_decode_num_drafts_total", MetricType::Counter, "Times that tokens were guessed ahead.",
      counts.n_drafts);
  add("llamacpp:spec_decode_num_draft_tokens_total", MetricType::Counter, "Tokens guessed ahead.", counts.n_drafted);
  add("llamacpp:spec_decode_num_accepted_tokens_total", MetricType::Counter, "Guessed tokens that were right.",
      counts.n_accepted);
  return families;
}

}  // namespace realizar::server
