// Metrics that are read when somebody asks, and not counted here, as prometheus-cpp has them.
#pragma once

#include <prometheus/metric_family.h>

#include <utility>
#include <vector>

namespace realizar::server {

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

}  // namespace realizar::server
