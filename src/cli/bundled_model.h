// The model that is part of the program, where no other was named.
#pragma once

#include <string>
#include <string_view>

#include "realizar/result.h"

namespace realizar::cli {

// Its file. Errors: NotFound, naming the command to give a model to.
Result<std::string> bundled_model_path(const std::string& command);
// The same where no model was named, with a line on standard error that says so. `does`: "answers".
Result<std::string> bundled_in_place(const std::string& command, std::string_view does);

// "realizar-tiny, a toy of 4.5 million parameters"
std::string bundled_text();

}  // namespace realizar::cli
