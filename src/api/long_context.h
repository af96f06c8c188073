// A context that is longer than what the model has learned from.
#pragma once

#include <string>

#include "realizar/engine.h"

namespace realizar {

// What to warn of once the model is loaded; empty: nothing.
std::string long_context_warning(const ModelInfo& info);

}  // namespace realizar
