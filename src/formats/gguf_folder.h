// A folder that holds GGUF files, given in place of one of them.
#pragma once

#include <filesystem>

#include "realizar/result.h"

namespace realizar {

// The one model in the folder: a .gguf file, or the first part of a split one. Errors: NotFound (no .gguf file, nor
// anything else that makes a model), InvalidArgument (several, with their names).
Result<std::filesystem::path> find_gguf(const std::filesystem::path& folder);

}  // namespace realizar
