#include "server/watch/metrics_history.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace realizar::server {
namespace {

using Sample = MetricsHistory::Sample;

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

struct Column {
  const char* name;
  double Sample::*value;
};
constexpr Column kColumns[] = {
    {"time", &Sample::time_s},
    {"running", &Sample::n_running},
    {"waiting", &Sample::n_waiting},
    {"kv_use", &Sample::kv_use},
    {"prompt_tokens_per_s", &Sample::prompt_per_s},
    {"generated_tokens_per_s", &Sample::generated_per_s},
    {"requests_per_s", &Sample::requests_per_s},
    {"refused_per_s", &Sample::refused_per_s},
    {"failed_per_s", &Sample::failed_per_s},
    {"prefix_hit_share", &Sample::prefix_hit_share},
    {"first_token_p50_s", &Sample::first_token_p50_s},
    {"first_token_p95_s", &Sample::first_token_p95_s},
    {"inter_token_p50_s", &Sample::inter_token_p50_s},
    {"inter_token_p95_s", &Sample::inter_token_p95_s},
    {"resident_bytes", &Sample::resident_bytes},
    {"weight_bytes", &Sample::weight_bytes},
    {"kv_bytes", &Sample::kv_bytes},
};

// A count fell because a model was unloaded; the others' increase is then unknown.
double increase(uint64_t before, uint64_t after) {
  return after < before ? 0.0 : static_cast<double>(after - before);
}

Sample sample_of(const MetricsTotals& now, double time_s) {
  Sample sample{};
  for (const Column& column : kColumns) sample.*column.value = kNothing;
  sample.time_s = time_s;
  sample.n_running = now.n_running;
  sample.n_waiting = now.n_waiting;
  sample.kv_use = now.kv_use;
  sample.resident_bytes = static_cast<double>(now.n_resident_bytes);
  sample.weight_bytes = static_cast<double>(now.weight_bytes);
  sample.kv_bytes = static_cast<double>(now.kv_bytes);
  return sample;
}

void add_changes(Sample& sample, const MetricsTotals& before, const MetricsTotals& now, double elapsed_s) {
  const auto per_s = [&](uint64_t MetricsTotals::*count) { return increase(before.*count, now.*count) / elapsed_s; };
  sample.prompt_per_s = per_s(&MetricsTotals::n_prompt_tokens);
  sample.generated_per_s = per_s(&MetricsTotals::n_generated_tokens);
  sample.requests_per_s = per_s(&MetricsTotals::n_requests);
  sample.refused_per_s = per_s(&MetricsTotals::n_refused);
  sample.failed_per_s = per_s(&MetricsTotals::n_failed);
  const double queried = increase(before.n_prefix_queried, now.n_prefix_queried);
  if (queried > 0) sample.prefix_hit_share = increase(before.n_prefix_hits, now.n_prefix_hits) / queried;
  sample.first_token_p50_s = quantile_between(before.first_token, now.first_token, 0.5).value_or(kNothing);
  sample.first_token_p95_s = quantile_between(before.first_token, now.first_token, 0.95).value_or(kNothing);
  sample.inter_token_p50_s = quantile_between(before.inter_token, now.inter_token, 0.5).value_or(kNothing);
  sample.inter_token_p95_s = quantile_between(before.inter_token, now.inter_token, 0.95).value_or(kNothing);
}

}  // namespace

std::optional<double> quantile_between(const LatencyCounts& before, const LatencyCounts& after, double q) {
  const auto n_until = [&](size_t i) { return static_cast<double>(after.n[i] - (before.n.empty() ? 0 : before.n[i])); };
  if (after.n.empty() || n_until(after.n.size() - 1) <= 0) return std::nullopt;
  const double rank = q * n_until(after.n.size() - 1);
  size_t i = 0;
  while (n_until(i) < rank) ++i;
  const double lower = i == 0 ? 0.0 : after.bounds_s[i - 1], upper = after.bounds_s[i];
  if (std::isinf(upper)) return lower;
  const double below = i == 0 ? 0.0 : n_until(i - 1), inside = n_until(i) - below;
  return inside > 0 ? lower + (upper - lower) * (rank - below) / inside : upper;
}

void MetricsHistory::add(const MetricsTotals& totals, double time_s) {
  Sample sample = sample_of(totals, time_s);
  const double elapsed_s = samples_.empty() ? 0 : time_s - samples_.back().time_s;
  if (elapsed_s > 0) add_changes(sample, last_, totals, elapsed_s);
  samples_.push_back(sample);
  if (samples_.size() > kMaxSamples) samples_.pop_front();
  last_ = totals;
}

Json MetricsHistory::columns(double since_s) const {
  const auto begin = std::ranges::find_if(samples_, [&](const Sample& sample) { return sample.time_s > since_s; });
  Json json = Json::object();
  for (const Column& column : kColumns) {
    Json& values = json[column.name] = Json::array();
    for (auto sample = begin; sample != samples_.end(); ++sample) {
      const double value = *sample.*column.value;
      values.push_back(std::isnan(value) ? Json(nullptr) : Json(value));
    }
  }
  return json;
}

}  // namespace realizar::server
