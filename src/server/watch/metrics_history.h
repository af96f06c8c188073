// The server's activity during its last hour: one sample every few seconds, in a ring buffer. I/O thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "server/http/json.h"

namespace realizar::server {

// Observations so far: n[i] of them were at most bounds_s[i]. The last bound is infinite.
struct LatencyCounts {
  std::vector<double> bounds_s;
  std::vector<uint64_t> n;
};

// The values of the server's metrics at one time, summed over the models.
struct MetricsTotals {
  uint32_t n_running = 0, n_waiting = 0;
  double kv_use = 0;                        // used share of the KV blocks, 0 to 1
  uint64_t weight_bytes = 0, kv_bytes = 0;  // of the loaded models
  // Counts since the server's start, which never decrease.
  uint64_t n_prompt_tokens = 0, n_generated_tokens = 0;
  uint64_t n_prefix_queried = 0, n_prefix_hits = 0;  // prompt tokens
  uint64_t n_preemptions = 0;
  uint64_t n_requests = 0;        // that generated and ended
  uint64_t n_refused = 0;         // answered with a status of 400 to 499
  uint64_t n_failed = 0;          // answered with a status of 500 or more
  uint64_t n_resident_bytes = 0;  // of the process
  LatencyCounts first_token, inter_token;
};

// The q-quantile, in seconds, of the observations between two counts, interpolated within its bucket like Prometheus'
// histogram_quantile. nullopt without observations.
std::optional<double> quantile_between(const LatencyCounts& before, const LatencyCounts& after, double q);

class MetricsHistory {
 public:
  static constexpr std::chrono::seconds kInterval{5};
  static constexpr size_t kMaxSamples = 720;  // an hour

  // Adds a sample at `time_s` (Unix time) and drops the oldest beyond kMaxSamples.
  void add(const MetricsTotals& totals, double time_s);
  // {"time": [...], "running": [...], ...}: one array per column, of the samples after `since_s`. Unmeasured values are
  // null: rates of the first sample, latencies of a time without requests.
  Json columns(double since_s) const;

  struct Sample {
    double time_s, n_running, n_waiting, kv_use;
    double prompt_per_s, generated_per_s;  // tokens
    double requests_per_s, refused_per_s, failed_per_s;
    double prefix_hit_share;  // of the prompt tokens that were looked up
    double first_token_p50_s, first_token_p95_s, inter_token_p50_s, inter_token_p95_s;
    double resident_bytes, weight_bytes, kv_bytes;
  };

 private:
  std::deque<Sample> samples_;
  MetricsTotals last_;
};

}  // namespace realizar::server
