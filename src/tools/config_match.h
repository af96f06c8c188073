// Whether two files are of the same model: what their configs compute, whatever order their rows have.
#pragma once

#include <optional>
#include <string>

#include "model/model_config.h"

namespace realizar {

// The first thing in which they differ, as "line of the one, line of the other"; nothing where they compute the same.
// Numbers may differ by what F32 rounds. Factors that GGUF has in the weights count as 1.
std::optional<std::string> difference(const ModelConfig& source, const ModelConfig& made);

}  // namespace realizar
