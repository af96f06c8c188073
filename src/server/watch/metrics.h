// The output of /metrics, in Prometheus' text format. Names, labels and buckets are vLLM's if the meaning is the same.
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

// Metrics that are read on request rather than counted here, in prometheus-cpp's types.
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

// The metrics' view of a model that is or was loaded.
struct ModelState {
  std::string id;
  std::optional<BackendNumbers> backend;   // nullopt: not loaded
  const engine::EngineCounters* counters;  // since the server's start
  std::string gpu_refusal = {};            // as in ModelInfo
  const PastCounts* past = nullptr;        // from earlier loads; null: none
  std::vector<engine::AdapterUse> adapters = {};
  uint32_t n_adapter_slots = 0;
};
// The devices' memory and operations for models. If a model is on several devices, each has the times of all its steps.
Families device_metrics(std::span<const ModelState> models);
// Metrics with llama.cpp's names, for dashboards made for its server: sums over the models, without labels. Rates are
// means since the server's start.
Families llama_metrics(std::span<const ModelState> models);

// Metrics that only inference gateways read: the cache's blocks, and the adapters in use. A series for each loaded
// model; `unix_s` is the current time.
Families gateway_metrics(std::span<const ModelState> models, double unix_s);

// Spans of traces that a collector has accepted, and lost ones.
struct SpanCounts {
  uint64_t n_sent = 0, n_lost = 0;
};

// Further counts of the server for its metrics.
struct ServerCounts {
  uint32_t n_connections = 0;
  uint64_t n_lost_log_lines = 0;
  const SharedCounters* shared = nullptr;  // null: prefixes are not shared
  std::optional<SpanCounts> spans = {};    // nullopt: traces are not sent
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
  // Since this was created, when the server started.
  double uptime_s() const;

  // For the history of metrics.
  MetricsTotals totals(const ModelRegistry& models) const;

  // The text of /metrics, with the engines' current values.
  std::string text(const ModelRegistry& models, const ServerCounts& counts) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace realizar::server
