// What /metrics shows, in Prometheus' text format. Names, labels and buckets are vLLM's where the meaning is the same.
#pragma once

#include <prometheus/metric_family.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "api/backend_numbers.h"
#include "engine/adapters.h"
#include "engine/counters.h"
#include "realizar/generation.h"
#include "server/models/model_registry.h"
#include "server/shared/shared_counters.h"
#include "server/watch/metrics_history.h"

namespace realizar::server {

// Metrics that are read when somebody asks, and not counted here, as prometheus-cpp has them.
using Families = std::vector<prometheus::MetricFamily>;
using Labels = std::vector<prometheus::ClientMetric::Label>;
using Samples = std::vector<prometheus::ClientMetric>;
using prometheus::MetricType;

// A sample of a counter or a gauge.
inline prometheus::ClientMetric sample_of(Labels labels, double value) {
  prometheus::ClientMetric metric;
  metric.label = std::move(labels);
  metric.counter.value = metric.gauge.value = value;
  return metric;
}

// A family without samples is left out.
inline void add_family(Families& families, const char* name, MetricType type, const char* help, Samples samples) {
  if (!samples.empty()) families.push_back({name, help, type, std::move(samples)});
}

// A model that is loaded or was, as far as metrics read it.
struct ModelState {
  std::string id;
  std::optional<BackendNumbers> backend;   // nullopt: it is not loaded
  const engine::EngineCounters* counters;  // since the server's start
  std::string gpu_refusal = {};            // as ModelInfo has it
  const PastCounts* past = nullptr;        // before it was loaded; null: nothing
  std::vector<engine::AdapterUse> adapters = {};
  uint32_t n_adapter_places = 0;
};
// What devices hold of models and did for them. Where a model is on several, the times of its steps are of all of them.
Families device_metrics(std::span<const ModelState> models);
// The part that has llama.cpp's names, for dashboards that were made for its server: sums over the models, without
// labels. Rates are means since the server's start.
Families llama_metrics(std::span<const ModelState> models);

// Figures that only inference gateways read: the cache's blocks, and the adapters in use. A series for each loaded
// model; `unix_s` is the time now.
Families gateway_metrics(std::span<const ModelState> models, double unix_s);

// Spans of traces that a collector has taken, and that are lost.
struct SpanCounts {
  uint64_t n_sent = 0, n_lost = 0;
};

// Further counts of the server for its metrics.
struct ServerCounts {
  uint32_t n_connections = 0;
  uint64_t n_lost_log_lines = 0;
  const SharedCounters* shared = nullptr;  // null: no prefixes are shared with other servers
  std::optional<SpanCounts> spans = {};    // nullopt: no traces are sent
};

class ServerMetrics {
 public:
  ServerMetrics();
  ~ServerMetrics();

  void observe_inter_token(const std::string& model, double ms);
  void observe_request(const std::string& model, const GenerationStats& stats, const char* finish_reason,
                       uint32_t n_tokens, double total_ms);
  void count_aborted(const std::string& model);
  void count_http(const std::string& route, int status);
  // Since this was made, when the server began.
  double uptime_s() const;

  // For the history of metrics.
  MetricsTotals totals(const ModelRegistry& models) const;

  // The text of /metrics, with what the engines say now.
  std::string text(const ModelRegistry& models, const ServerCounts& counts) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace realizar::server
