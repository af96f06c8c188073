// A folder that holds GGUF files, given in place of one of them.
#pragma once

#include <filesystem>
#include <vector>

#include "realizar/result.h"

namespace realizar {

// Whether the file is a model: a .gguf file, or the first part of a split one. Projectors, importance matrices and
// adapters lie beside the models that they belong to; files that cannot be read are known by their names,
// and projectors by a name that begins with "mmproj" too.
bool is_gguf_model(const std::filesystem::path& path);

// The one model in the folder: a .gguf file, or the first part of a split one. Errors: NotFound (no .gguf file, nor
// anything else that makes a model), Unsupported (files that are no models alone), InvalidArgument (several, with their
// names).
Result<std::filesystem::path> find_gguf(const std::filesystem::path& folder);

// The files that a model consists of: of the first part of a split one all parts that lie beside it.
std::vector<std::filesystem::path> parts_of_gguf(const std::filesystem::path& path);

}  // namespace realizar
