// A folder that holds GGUF files, given in place of one of them.
#pragma once

#include <filesystem>

#include "realizar/result.h"

namespace realizar {

// Whether the name is that of a model: a .gguf file, or the first part of a split one. Projectors of images lie beside
// the models that they belong to.
bool is_gguf_model(const std::filesystem::path& path);

// The one model in the folder: a .gguf file, or the first part of a split one. Errors: NotFound (no .gguf file, nor
// anything else that makes a model), InvalidArgument (several, with their names).
Result<std::filesystem::path> find_gguf(const std::filesystem::path& folder);

}  // namespace realizar
