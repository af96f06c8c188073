// A model of a server, from its file until it answers.
#pragma once

#include <atomic>

#include "realizar/options.h"
#include "realizar/result.h"
#include "server/models/model_source.h"
#include "server/models/served_model.h"

namespace realizar::server {

struct RegistryOptions;

// Any thread; `stopping` may become true meanwhile. Errors: those of loading; Unsupported where there is no tokenizer;
// Cancelled.
Result<ServedModelPtr> load_served_model(const ModelSource& source, const RegistryOptions& options,
                                         const LoadOptions& load_options, const std::atomic<bool>& stopping);

}  // namespace realizar::server
