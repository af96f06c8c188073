// Metrics for tools made for other servers: the endpoint picker of the Gateway API inference extension and of llm-d,
// whose names, labels and types are from its model server protocol (proposal 003), as in vLLM; and dashboards made for
// llama.cpp's server.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/printable.h"
#include "server/watch/metrics.h"

namespace realizar::server {
namespace {

// A picker splits the list at commas and trims the items: a name that this would change is left out.
bool can_be_listed(std::string_view name) {
  return name.find(',') == std::string_view::npos && !name.starts_with(' ') && !name.ends_with(' ');
}

// Two slots have the same name while an adapter's successor is already loaded.
bool has_name(std::string_view list, std::string_view name) {
  const std::string whole = "," + std::string(list) + ",";
  return whole.find("," + std::string(name) + ",") != std::string::npos;
}

std::string names_of(std::span<const engine::AdapterUse> adapters, uint32_t engine::AdapterUse::*number) {
  std::string list;
  for (const engine::AdapterUse& adapter : adapters) {
    const std::string name = printable(adapter.name);
    if (adapter.*number == 0 || !can_be_listed(name) || has_name(list, name)) continue;
    if (!list.empty()) list += ',';
    list += name;
  }
  return list;
}

double rate(uint64_t n, double seconds) {
  return seconds > 0 ? static_cast<double>(n) / seconds : 0;
}

}  // namespace

Families gateway_metrics(std::span<const ModelState> models, double unix_s) {
  Samples blocks, adapters;
  for (const ModelState& model : models) {
    if (!model.backend) continue;
    const Labels labels{{"model_name", printable(model.id)}};
    const auto labels_and = [&labels](Labels further) {
      further.insert(further.begin(), labels.begin(), labels.end());
      return further;
    };
    blocks.push_back(sample_of(labels_and({{"block_size", std::to_string(model.counters->n_block_tokens)},
                                           {"num_gpu_blocks", std::to_string(model.counters->n_blocks)}}),
                               1));
    adapters.push_back(
        sample_of(labels_and({{"max_lora", std::to_string(model.n_adapter_slots)},
                              {"running_lora_adapters", names_of(model.adapters, &engine::AdapterUse::n_running)},
                              {"waiting_lora_adapters", names_of(model.adapters, &engine::AdapterUse::n_waiting)}}),
                  unix_s));
  }
  Families families;
  add_family(families, "vllm:cache_config_info", MetricType::Gauge,
             "1; tokens of a KV block, and the number of blocks, on whatever device.", std::move(blocks));
  add_family(families, "vllm:lora_requests_info", MetricType::Gauge,
             "The time now, in seconds since 1970; adapters whose requests run and wait, and the slots for adapters.",
             std::move(adapters));
  return families;
}

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
    add_family(families, name, type, help, {sample_of(Labels{}, static_cast<double>(value))});
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
  add("llamacpp:spec_decode_num_drafts_total", MetricType::Counter, "Times that tokens were drafted.", all.n_drafts);
  add("llamacpp:spec_decode_num_draft_tokens_total", MetricType::Counter, "Tokens drafted.", all.n_drafted);
  add("llamacpp:spec_decode_num_accepted_tokens_total", MetricType::Counter, "Drafted tokens that were accepted.",
      all.n_accepted);
  return families;
}

}  // namespace realizar::server
