// A context longer than the one that the model was trained with.
#pragma once

#include <string>

#include "realizar/engine.h"

namespace realizar {

// A warning to show once the model is loaded; empty: none.
std::string long_context_warning(const ModelInfo& info);

}  // namespace realizar
