// The part of /metrics that has llama.cpp's names, for dashboards that were made for its server.
#pragma once

#include <span>

#include "server/watch/metrics.h"

namespace realizar::server {

// Sums over the models, without labels. Rates are means since the server's start.
Families llama_metrics(std::span<const ModelState> models);

}  // namespace realizar::server
