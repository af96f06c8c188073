// GET /metrics/history: what the server did during its last hour, for the page's charts. "?since=SECONDS" (Unix time)
// leaves out the samples until then.
#include <charconv>
#include <nlohmann/json.hpp>

#include "server/call/context.h"
#include "server/routes/routes.h"
#include "server/watch/metrics.h"
#include "server/watch/metrics_history.h"

namespace realizar::server {
namespace {

constexpr std::string_view kSince = "since=";

// nullopt: the query is something else.
std::optional<double> since_of(std::string_view query) {
  if (query.empty()) return 0.0;
  if (!query.starts_with(kSince)) return std::nullopt;
  query.remove_prefix(kSince.size());
  double since_s = 0;
  const auto [end, error] = std::from_chars(query.data(), query.data() + query.size(), since_s);
  if (error != std::errc() || end != query.data() + query.size()) return std::nullopt;
  return since_s;
}

Json totals_json(const MetricsTotals& totals) {
  return {{"requests", totals.n_requests},
          {"refused", totals.n_refused},
          {"failed", totals.n_failed},
          {"preemptions", totals.n_preemptions},
          {"prefix_queried_tokens", totals.n_prefix_queried},
          {"prefix_hit_tokens", totals.n_prefix_hits}};
}

}  // namespace

HttpResponse get_metrics_history(const Call& call) {
  const ServerContext& context = call.context;
  if (!context.options.metrics) {
    return error_response({404, "metrics are switched off", "", "not_found"});
  }
  const auto since_s = since_of(call.request.query);
  if (!since_s) return error_response(bad_request("expected no query, or since=SECONDS", "since"));
  const double uptime_s = std::chrono::duration<double>(Clock::now() - context.start).count();
  const Json json{{"interval_s", MetricsHistory::kInterval.count()},
                  {"span_s", MetricsHistory::kInterval.count() * MetricsHistory::kMaxSamples},
                  {"uptime_s", uptime_s},
                  {"totals", totals_json(context.metrics.totals(context.models))},
                  {"samples", context.history.columns(*since_s)}};
  return {200, "application/json", dump(json), {{"Cache-Control", "no-store"}}};
}

}  // namespace realizar::server
