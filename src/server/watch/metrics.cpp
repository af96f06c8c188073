#include "server/watch/metrics.h"

#include <fmt/format.h>
#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <iterator>
#include <limits>
#include <map>

#include "api/loaded_model.h"
#include "base/printable.h"
#include "engine/engine.h"
#include "realizar/engine.h"
#include "server/http/process.h"

namespace realizar::server {
namespace {

using Buckets = prometheus::Histogram::BucketBoundaries;

// vLLM's buckets, in seconds (vllm/v1/metrics/loggers.py).
const Buckets kFirstToken{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1,  0.25,  0.5,   0.75,
                          1.0,   2.5,   5.0,  7.5,  10.0, 20.0, 40.0, 80.0, 160.0, 640.0, 2560.0};
const Buckets kPerToken{0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2,  0.3,  0.4, 0.5,
                        0.75, 1.0,   2.5,  5.0,   7.5, 10.0, 20.0, 40.0, 80.0};
const Buckets kRequest{0.3,  0.5,  0.8,  1.0,  1.5,   2.0,   2.5,   5.0,   10.0,   15.0,  20.0,
                       30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, 7680.0};
const Buckets kTokens{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000};

// A histogram: each bucket counts all steps up to its bound.
prometheus::ClientMetric steps_of(Labels labels, const engine::EngineCounters& c) {
  prometheus::ClientMetric metric = sample_of(std::move(labels), 0);
  uint64_t n = 0;
  for (size_t i = 0; i < c.n_steps_in_class.size(); ++i) {
    n += c.n_steps_in_class[i].load(std::memory_order_relaxed);
    const bool has_bound = i < engine::kStepBoundsMs.size();
    metric.histogram.bucket.push_back(
        {n, has_bound ? engine::kStepBoundsMs[i] / 1e3 : std::numeric_limits<double>::infinity()});
  }
  metric.histogram.sample_count = n;
  metric.histogram.sample_sum =
      c.prefill_steps.sum_s.load(std::memory_order_relaxed) + c.decode_steps.sum_s.load(std::memory_order_relaxed);
  return metric;
}

Labels labels_of(const ModelState& model) {
  return {{"model_name", printable(model.id)}};
}

Labels labels_of(const ModelState& model, const std::string& device) {
  return {{"model_name", printable(model.id)}, {"device", printable(device)}};
}

Labels with(Labels labels, const char* name, std::string value) {
  labels.push_back({name, std::move(value)});
  return labels;
}

std::string device_names_of(const ModelState& model) {
  return model.backend ? model.backend->device_names() : model.past->devices;
}

Samples memory_samples(const ModelState& model) {
  Samples samples;
  const auto add = [&](const std::string& device, const char* kind, uint64_t n_bytes) {
    samples.push_back(sample_of(with(labels_of(model, device), "kind", kind), static_cast<double>(n_bytes)));
  };
  if (!model.backend) return samples;
  const BackendNumbers& numbers = *model.backend;
  for (const DeviceNumbers& device : numbers.devices) {
    add(device.name, "weights", device.weight_bytes);
    add(device.name, "kv_cache", device.kv_bytes);
    add(device.name, "scratch", device.scratch_bytes);
    add(device.name, "free", device.free_bytes);
    add(device.name, "total", device.total_bytes);
  }
  if (!numbers.devices.empty()) return samples;
  add(numbers.name, "weights", numbers.weight_bytes);
  add(numbers.name, "kv_cache", numbers.kv_bytes);
  add(numbers.name, "scratch", numbers.scratch_bytes);
  return samples;
}

// Each phase's number of steps, their time, and the sum for its deviation.
void add_step_times(Families& families, std::span<const ModelState> models) {
  const auto add = [&](const char* name, MetricType type, const char* help, auto number, bool wants_any = false) {
    Samples samples;
    for (const ModelState& model : models) {
      for (const bool is_prefill : {true, false}) {
        const engine::StepTimes& times = is_prefill ? model.counters->prefill_steps : model.counters->decode_steps;
        if (wants_any && times.n == 0) continue;
        samples.push_back(
            sample_of(with(labels_of(model, device_names_of(model)), "phase", is_prefill ? "prefill" : "decode"),
                      static_cast<double>((times.*number).load())));
      }
    }
    add_family(families, name, type, help, std::move(samples));
  };
  using engine::StepTimes;
  add("realizar_backend_steps_total", MetricType::Counter,
      "Batches dispatched: prefill, with tokens of some prompt, or decode.", &StepTimes::n);
  add("realizar_backend_step_seconds_total", MetricType::Counter, "Time that these took.", &StepTimes::sum_s);
  add("realizar_step_seconds_sumsq", MetricType::Counter, "Sum of the squares of their times.",
      &StepTimes::sum_of_squares);
  add("realizar_step_seconds_min", MetricType::Gauge, "The shortest since the start.", &StepTimes::min_s, true);
  add("realizar_step_seconds_max", MetricType::Gauge, "The longest since the start.", &StepTimes::max_s, true);
}

using Counters = engine::EngineCounters;

template <auto number>
double read(const Counters& counters) {
  return static_cast<double>((counters.*number).load());
}

double held_share(const Counters& counters) {
  return static_cast<double>(counters.n_held_blocks) / std::max(1u, counters.n_blocks.load());
}

// One number per model. Rows of one family are adjacent, and a label distinguishes them.
struct EngineRow {
  const char* name;
  MetricType type;
  const char* help;
  double (*read)(const Counters&);
  const char *label = nullptr, *value = nullptr;
};

void add_engine_counters(Families& families, std::span<const ModelState> models) {
  using enum MetricType;
  static constexpr EngineRow kRows[] = {
      {"vllm:num_requests_running", Gauge, "Requests in the batch.", read<&Counters::n_running>},
      {"vllm:num_requests_waiting", Gauge, "Requests that wait.", read<&Counters::n_waiting>},
      {"vllm:kv_cache_usage_perc", Gauge, "Share of the KV blocks that are held, 0 to 1.", held_share},
      {"vllm:num_preemptions_total", Counter, "Requests preempted from lack of KV blocks.",
       read<&Counters::n_preemptions>},
      {"realizar_nonfinite_logits_total", Counter, "Requests that ended since the model gave NaN or infinities.",
       read<&Counters::n_nonfinite_logits>},
      {"vllm:prompt_tokens_total", Counter, "Prompt tokens of requests that reached their first token.",
       read<&Counters::n_prompt_tokens>},
      {"vllm:generation_tokens_total", Counter, "Tokens generated.", read<&Counters::n_generated_tokens>},
      {"vllm:spec_decode_num_draft_tokens_total", Counter, "Tokens drafted.", read<&Counters::n_drafted>},
      {"vllm:spec_decode_num_accepted_tokens_total", Counter, "Drafted tokens that were accepted.",
       read<&Counters::n_accepted>},
      {"vllm:prefix_cache_queries_total", Counter, "Prompt tokens looked up in the prefix cache.",
       read<&Counters::n_prefix_queried>},
      {"vllm:prefix_cache_hits_total", Counter, "Prompt tokens found there.", read<&Counters::n_prefix_hits>},
      {"realizar_prefix_requests_total", Counter,
       "Requests that ended, by whether any of their prompt was found there.", read<&Counters::n_warm_requests>,
       "result", "hit"},
      {"realizar_prefix_requests_total", Counter, "", read<&Counters::n_cold_requests>, "result", "miss"},
      {"realizar_idle_prefill_tokens_total", Counter,
       "Tokens of answers that were computed again between requests, to be found by the next turns of their chats.",
       read<&Counters::n_idle_prefill_tokens>},
      {"realizar_prefix_inserted_blocks_total", Counter, "Blocks of prompts that can be found from then on.",
       read<&Counters::n_inserted_blocks>},
      {"realizar_prefix_evicted_blocks_total", Counter, "Of these, blocks whose place was wanted for others.",
       read<&Counters::n_evicted_blocks>},
      {"realizar_prefix_saved_blocks_total", Counter, "Evicted blocks that went to the host's memory.",
       read<&Counters::n_saved_blocks>},
      {"realizar_prefix_dropped_blocks_total", Counter, "Blocks whose place there was wanted for others.",
       read<&Counters::n_dropped_blocks>},
      {"realizar_prefix_restored_blocks_total", Counter, "Blocks of prefixes that came back from the host's memory.",
       read<&Counters::n_restored_blocks>},
      {"realizar_prefix_blocks", Gauge, "Blocks that can be found now: in the KV cache, and in the host's memory.",
       read<&Counters::n_named_blocks>, "place", "cache"},
      {"realizar_prefix_blocks", Gauge, "", read<&Counters::n_stored_blocks>, "place", "host"},
  };
  if (models.empty()) return;
  for (const EngineRow& row : kRows) {
    const bool goes_on = !families.empty() && families.back().name == row.name;
    if (!goes_on) families.push_back({row.name, row.help, row.type, {}});
    for (const ModelState& model : models) {
      Labels labels = labels_of(model);
      if (row.label != nullptr) labels.push_back({row.label, row.value});
      families.back().metric.push_back(sample_of(std::move(labels), row.read(*model.counters)));
    }
  }
}

void add_shared_prefixes(Families& families, const SharedCounters& shared) {
  const auto add = [&](const char* name, MetricType type, const char* help, const char* label,
                       std::initializer_list<std::pair<const char*, double>> values) {
    Samples samples;
    for (const auto& [value, n] : values) {
      samples.push_back(sample_of(label == nullptr ? Labels() : Labels{{label, value}}, n));
    }
    add_family(families, name, type, help, std::move(samples));
  };
  const auto n = [](const SharedCounters::Count& count) { return static_cast<double>(count.load()); };
  using enum MetricType;
  add("realizar_shared_prefix_up", Gauge, "Whether the Redis of --cache-url answers.", nullptr,
      {{"", shared.is_up ? 1 : 0}});
  add("realizar_shared_prefix_requests_total", Counter,
      "Requests that asked it for their prefix: some of it came, nothing that helps was there, or the time was over.",
      "result", {{"hit", n(shared.n_hits)}, {"miss", n(shared.n_misses)}, {"late", n(shared.n_late)}});
  add("realizar_shared_prefix_wait_seconds_total", Counter, "Time that these requests waited for it.", nullptr,
      {{"", n(shared.n_wait_us) / 1e6}});
  add("realizar_shared_prefix_hit_tokens_total", Counter, "Tokens whose blocks came from there.", nullptr,
      {{"", n(shared.n_hit_tokens)}});
  add("realizar_shared_prefix_bytes_total", Counter, "Bytes that came from there, and of values that were sent.",
      "direction", {{"received", n(shared.n_read_bytes)}, {"sent", n(shared.n_sent_bytes)}});
  add("realizar_shared_prefix_sent_pieces_total", Counter, "Blocks and states that were sent.", nullptr,
      {{"", n(shared.n_stored_pieces)}});
  add("realizar_shared_prefix_dropped_total", Counter,
      "Requests whose prefix was not sent, since many others waited to be.", nullptr,
      {{"", n(shared.n_dropped_stores)}});
  add("realizar_shared_prefix_errors_total", Counter,
      "lost: Redis did not answer; value: one was invalid; refused: Redis accepted none, being full.", "reason",
      {{"lost", n(shared.n_lost)}, {"value", n(shared.n_bad_values)}, {"refused", n(shared.n_refused)}});
}

// The learned costs of the step budget: for each range of decode rows, the parts of a step's time.
Samples step_cost_samples(const ModelState& model) {
  Samples samples;
  for (size_t kind = 0; kind < engine::StepBudget::kKinds; ++kind) {
    const engine::StepCostGauges& costs = model.counters->step_costs[kind];
    const engine::StepBudget::RowRange rows = engine::StepBudget::rows_of(kind);
    const auto add = [&](const char* part, const std::atomic<double>& ms) {
      if (ms <= 0) return;
      const Labels of_rows = with(labels_of(model), "decode_rows", fmt::format("{}-{}", rows.first, rows.last));
      samples.push_back(sample_of(with(of_rows, "part", part), ms / 1e3));
    };
    add("decode", costs.decode_ms);
    add("prompt_fixed", costs.prompt_fixed_ms);
    add("prompt_token", costs.prompt_token_ms);
  }
  return samples;
}

// The numbers of each device for the model, including earlier loads.
std::vector<DeviceNumbers> devices_of(const ModelState& model) {
  std::vector<DeviceNumbers> devices;
  if (model.backend) devices = model.backend->devices;
  if (model.past != nullptr) devices.insert(devices.end(), model.past->of_each.begin(), model.past->of_each.end());
  return devices;
}

// All models that have counted something, each with the sum of current and past counts.
class ModelStates {
 public:
  explicit ModelStates(const ModelRegistry& models) {
    for (const auto& entry : models.entries()) {
      if (entry.model != nullptr) add(entry.source.id, *entry.model->loaded);
    }
    for (const auto& entry : models.leaving()) {
      if (entry.model != nullptr) add(entry.source.id, *entry.model->loaded);
    }
    for (const auto& [id, past] : models.past_counts()) {
      const size_t idx = index_of(id);
      states_[idx].past = &past;
      counters_[idx].add_counts(past.counters);
    }
  }
  std::span<const ModelState> all() const { return states_; }

 private:
  size_t index_of(const std::string& id) {
    const auto state = std::ranges::find(states_, id, &ModelState::id);
    if (state != states_.end()) return static_cast<size_t>(state - states_.begin());
    counters_.emplace_back();
    states_.push_back({id, std::nullopt, &counters_.back()});
    return states_.size() - 1;
  }
  // If several have the same id, the first one gets it, and the others are being removed.
  void add(const std::string& id, const LoadedModel& model) {
    const size_t idx = index_of(id);
    counters_[idx].add_counts(model.engine->counters());
    if (states_[idx].backend) return;
    counters_[idx].take_state(model.engine->counters());
    states_[idx].backend = numbers_of(*model.backend);
    states_[idx].gpu_refusal = model.info.gpu_refusal;
    states_[idx].adapters = model.engine->adapters().uses();
    states_[idx].n_adapter_slots = model.engine->adapters().n_slots();
  }

  std::deque<engine::EngineCounters> counters_;
  std::vector<ModelState> states_;
};

// The sum of a family's counters; with `status`, only of those whose status begins with it.
uint64_t count_of(const prometheus::Family<prometheus::Counter>& family, std::string_view status = "") {
  double sum = 0;
  for (const prometheus::MetricFamily& collected : family.Collect()) {
    for (const prometheus::ClientMetric& metric : collected.metric) {
      const bool is_meant = status.empty() || std::ranges::any_of(metric.label, [&](const auto& label) {
                              return label.name == "status" && label.value.starts_with(status);
                            });
      if (is_meant) sum += metric.counter.value;
    }
  }
  return static_cast<uint64_t>(sum);
}

// Summed over the models.
LatencyCounts latencies_of(const prometheus::Family<prometheus::Histogram>& family) {
  LatencyCounts counts;
  for (const prometheus::MetricFamily& collected : family.Collect()) {
    for (const prometheus::ClientMetric& metric : collected.metric) {
      const auto& buckets = metric.histogram.bucket;
      counts.bounds_s.resize(buckets.size());
      counts.n.resize(buckets.size());
      for (size_t i = 0; i < buckets.size(); ++i) {
        counts.bounds_s[i] = buckets[i].upper_bound;
        counts.n[i] += buckets[i].cumulative_count;
      }
    }
  }
  return counts;
}

}  // namespace

Families device_metrics(std::span<const ModelState> models) {
  Families families;
  const auto count = [&](const char* name, const char* help, uint64_t DeviceNumbers::*counter) {
    Samples samples;
    for (const ModelState& model : models) {
      std::map<std::string, uint64_t> n_of;
      for (const DeviceNumbers& device : devices_of(model)) n_of[device.name] += device.*counter;
      for (const auto& [device, n] : n_of)
        samples.push_back(sample_of(labels_of(model, device), static_cast<double>(n)));
    }
    add_family(families, name, MetricType::Counter, help, std::move(samples));
  };
  count("realizar_device_launches_total", "Operations launched one by one.", &DeviceNumbers::n_launches);
  count("realizar_device_graph_captures_total", "Steps, or a device's parts of steps, recorded.",
        &DeviceNumbers::n_captures);
  count("realizar_device_graph_replays_total", "The same that ran as recorded.", &DeviceNumbers::n_replays);
  count("realizar_device_graph_failures_total", "Recordings that failed: such steps are launched one by one.",
        &DeviceNumbers::n_graph_failures);
  count("realizar_device_streamed_bytes_total", "Weights brought to the device during steps.",
        &DeviceNumbers::n_streamed_bytes);
  add_step_times(families, models);
  Samples steps, memory, step_costs;
  for (const ModelState& model : models) {
    steps.push_back(steps_of(labels_of(model, device_names_of(model)), *model.counters));
    std::ranges::move(memory_samples(model), std::back_inserter(memory));
    std::ranges::move(step_cost_samples(model), std::back_inserter(step_costs));
  }
  add_family(families, "realizar_step_seconds", MetricType::Histogram, "Time of a batch.", std::move(steps));
  add_family(families, "realizar_step_cost_seconds", MetricType::Gauge,
             "Learned parts of a step's time, by its decode rows: decode, a step that only decodes; prompt_fixed, what "
             "any prompt tokens add to it; prompt_token, what each of them adds.",
             std::move(step_costs));
  add_family(families, "realizar_memory_bytes", MetricType::Gauge,
             "Memory of a device: weights, kv_cache and scratch are the model's, free and total the device's.",
             std::move(memory));
  return families;
}

struct ServerMetrics::Impl {
  using Labels = std::map<std::string, std::string>;

  const std::chrono::system_clock::time_point started_at = std::chrono::system_clock::now();
  const std::chrono::steady_clock::time_point running_since = std::chrono::steady_clock::now();
  std::shared_ptr<prometheus::Registry> registry = std::make_shared<prometheus::Registry>();

  prometheus::Family<prometheus::Histogram>& histogram(const char* name, const char* help) {
    return prometheus::BuildHistogram().Name(name).Help(help).Register(*registry);
  }
  prometheus::Family<prometheus::Counter>& counter(const char* name, const char* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(*registry);
  }

  prometheus::Family<prometheus::Histogram>&first_token =
      histogram("vllm:time_to_first_token_seconds", "From a request's arrival to its first token."),
  &inter_token = histogram("vllm:inter_token_latency_seconds", "Between two tokens of a request."),
  &per_token =
      histogram("vllm:request_time_per_output_token_seconds", "A request's mean time a token after the first."),
  &end_to_end = histogram("vllm:e2e_request_latency_seconds", "From a request's arrival to its end."),
  &queue = histogram("vllm:request_queue_time_seconds", "From a request's arrival to its first step."),
  &prefill = histogram("vllm:request_prefill_time_seconds", "From a request's first step to its first token."),
  &decode = histogram("vllm:request_decode_time_seconds", "From a request's first token to its end."),
  &prompt_tokens = histogram("vllm:request_prompt_tokens", "Tokens of a prompt."),
  &generation_tokens = histogram("vllm:request_generation_tokens", "Tokens generated for a request.");
  prometheus::Family<prometheus::Counter>&success = counter("vllm:request_success_total", "Requests that ended."),
  &http = counter("realizar_http_requests_total", "HTTP requests answered.");

  static void observe(prometheus::Family<prometheus::Histogram>& family, const Labels& labels, const Buckets& buckets,
                      double value) {
    family.Add(labels, buckets).Observe(value);
  }
};

ServerMetrics::ServerMetrics() : impl_(std::make_unique<Impl>()) {}
ServerMetrics::~ServerMetrics() = default;

void ServerMetrics::observe_inter_token(const std::string& model, double ms) {
  Impl::observe(impl_->inter_token, {{"model_name", printable(model)}}, kPerToken, ms / 1e3);
}

void ServerMetrics::observe_request(const std::string& model, const GenerationStats& stats, const char* finish_reason,
                                    uint32_t n_tokens, double total_ms) {
  const Impl::Labels labels{{"model_name", printable(model)}};
  if (n_tokens > 0) {
    Impl::observe(impl_->first_token, labels, kFirstToken, stats.first_token_ms / 1e3);
    Impl::observe(impl_->queue, labels, kRequest, stats.queue_ms / 1e3);
    Impl::observe(impl_->prefill, labels, kRequest, stats.prefill_ms / 1e3);
    Impl::observe(impl_->decode, labels, kRequest, stats.decode_ms / 1e3);
  }
  if (n_tokens > 1) Impl::observe(impl_->per_token, labels, kPerToken, stats.decode_ms / (n_tokens - 1) / 1e3);
  Impl::observe(impl_->end_to_end, labels, kRequest, total_ms / 1e3);
  Impl::observe(impl_->prompt_tokens, labels, kTokens, stats.n_prompt);
  Impl::observe(impl_->generation_tokens, labels, kTokens, n_tokens);
  impl_->success.Add({{"model_name", printable(model)}, {"finished_reason", finish_reason}}).Increment();
}

void ServerMetrics::count_aborted(const std::string& model) {
  impl_->success.Add({{"model_name", printable(model)}, {"finished_reason", "abort"}}).Increment();
}

double ServerMetrics::uptime_s() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - impl_->running_since).count();
}

void ServerMetrics::count_http(const std::string& route, int status) {
  impl_->http.Add({{"route", route}, {"status", std::to_string(status)}}).Increment();
}

MetricsTotals ServerMetrics::totals(const ModelRegistry& models) const {
  MetricsTotals totals;
  uint64_t n_blocks = 0, n_held_blocks = 0;
  const ModelStates states(models);
  for (const ModelState& model : states.all()) {
    const engine::EngineCounters& c = *model.counters;
    totals.n_running += c.n_running;
    totals.n_waiting += c.n_waiting;
    n_blocks += c.n_blocks;
    n_held_blocks += c.n_held_blocks;
    totals.n_prompt_tokens += c.n_prompt_tokens;
    totals.n_generated_tokens += c.n_generated_tokens;
    totals.n_prefix_queried += c.n_prefix_queried;
    totals.n_prefix_hits += c.n_prefix_hits;
    totals.n_preemptions += c.n_preemptions;
    if (!model.backend) continue;
    totals.weight_bytes += model.backend->weight_bytes;
    totals.kv_bytes += model.backend->kv_bytes;
  }
  totals.kv_use = static_cast<double>(n_held_blocks) / static_cast<double>(std::max<uint64_t>(1, n_blocks));
  totals.n_requests = count_of(impl_->success);
  totals.n_refused = count_of(impl_->http, "4");
  totals.n_failed = count_of(impl_->http, "5");
  totals.n_resident_bytes = resident_bytes();
  totals.first_token = latencies_of(impl_->first_token);
  totals.inter_token = latencies_of(impl_->inter_token);
  return totals;
}

std::string ServerMetrics::text(const ModelRegistry& models, const ServerCounts& counts) const {
  Families families = impl_->registry->Collect();
  const ModelStates states(models);
  const std::span<const ModelState> known = states.all();
  add_engine_counters(families, known);
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  std::ranges::move(gateway_metrics(known, now.count()), std::back_inserter(families));
  std::ranges::move(llama_metrics(known), std::back_inserter(families));
  std::ranges::move(device_metrics(known), std::back_inserter(families));
  Samples devices, refusals;
  for (const ModelState& model : known) {
    if (!model.backend) continue;
    devices.push_back(sample_of(labels_of(model, model.backend->description), 1));
    if (model.gpu_refusal.empty()) continue;
    refusals.push_back(sample_of(with(labels_of(model), "reason", printable(model.gpu_refusal)), 1));
  }
  add_family(families, "realizar_model_info", MetricType::Gauge, "A loaded model and its device.", std::move(devices));
  add_family(families, "realizar_backend_refused", MetricType::Gauge,
             "A model that the GPU was not taken for, and why.", std::move(refusals));
  const auto one = [&](const char* name, MetricType type, const char* help, double value, Labels labels = {}) {
    add_family(families, name, type, help, {sample_of(std::move(labels), value)});
  };
  one("realizar_build_info", MetricType::Gauge, "The release.", 1, {{"version", version()}});
  // Two standard names of Prometheus clients.
  one("process_start_time_seconds", MetricType::Gauge, "When the server began, in seconds since 1970.",
      std::chrono::duration<double>(impl_->started_at.time_since_epoch()).count());
  one("process_resident_memory_bytes", MetricType::Gauge, "Physical memory that the process has.",
      static_cast<double>(resident_bytes()));
  one("realizar_connections", MetricType::Gauge, "Open connections.", counts.n_connections);
  one("realizar_access_log_lost_lines_total", MetricType::Counter,
      "Lines of the access log that were dropped or could not be written.",
      static_cast<double>(counts.n_lost_log_lines));
  if (counts.shared != nullptr) add_shared_prefixes(families, *counts.shared);
  if (counts.spans) {
    one("realizar_trace_spans_sent_total", MetricType::Counter, "Spans that the collector of traces has taken.",
        static_cast<double>(counts.spans->n_sent));
    one("realizar_trace_spans_lost_total", MetricType::Counter,
        "Spans that it did not take, or for which no room was left.", static_cast<double>(counts.spans->n_lost));
  }
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace realizar::server
