// The model that ships with the program, used if no other is named.
#pragma once

#include <string>
#include <string_view>

#include "realizar/result.h"

namespace realizar::cli {

// Its file. Errors: NotFound, naming the command that needs a model.
Result<std::string> bundled_model_path(const std::string& command);
// Likewise, with a line on standard error that no model was named. `does`: "answers".
Result<std::string> bundled_in_place(const std::string& command, std::string_view does);

// "realizar-tiny, a toy of 4.5 million parameters"
std::string bundled_text();

}  // namespace realizar::cli
