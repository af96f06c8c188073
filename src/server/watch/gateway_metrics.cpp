// The metrics by which the endpoint picker of the Gateway API inference extension and of llm-d scores servers, in
// addition to those of requests and KV use: names, labels and types from its model server protocol (proposal 003), as
// in vLLM.
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

}  // namespace realizar::server
