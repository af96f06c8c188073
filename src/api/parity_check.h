// Whether a backend computes what another one does, on this machine and with this model.
#pragma once

#include <string>

#include "api/loaded_model.h"

namespace realizar {

// Loads the model once more, on the CPU (a model on the CPU: on the reference backend), and compares the logits of a
// short text, half of it as a prompt and half as generated tokens. Gives a line that says what was compared, and how
// far the two are from each other. Errors: those of loading; Internal where they are farther than rounding explains.
Result<std::string> check_parity(LoadedModel& loaded, const LoadOptions& options);

}  // namespace realizar
