// The part of /metrics that has llama.cpp's names, for dashboards that were made for its server.
#pragma once

#include <span>
#include <string>

#include "server/watch/metrics.h"

namespace realizar::server {

// Sums over the models, without labels, in Prometheus' text format. Rates are means since the server's start.
std::string llama_metrics(std::span<const ModelState> models);

}  // namespace realizar::server
