// What /metrics shows, in Prometheus' text format. Names, labels and buckets are vLLM's where the meaning is the same.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "api/backend_numbers.h"
#include "engine/counters.h"
#include "realizar/generation.h"
#include "server/models/model_registry.h"
#include "server/watch/metric_families.h"
#include "server/watch/metrics_history.h"

namespace realizar::server {

// A model that is loaded or was, as far as metrics read it.
struct ModelState {
  std::string id;
  std::optional<BackendNumbers> backend;   // nullopt: it is not loaded
  const engine::EngineCounters* counters;  // since the server's start
  std::string gpu_refusal = {};            // as ModelInfo has it
  const PastCounts* past = nullptr;        // before it was loaded; null: nothing
};
// What devices hold of models and did for them. Where a model is on several, the times of its steps are of all of them.
Families device_metrics(std::span<const ModelState> models);

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
  std::string text(const ModelRegistry& models, uint32_t n_connections, uint64_t n_lost_log_lines) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace realizar::server
