// Finds the GGUF model in a folder that was given instead of a file.
#pragma once

#include <filesystem>
#include <vector>

#include "realizar/result.h"

namespace realizar {

// Whether the file is a model: a .gguf file, or the first part of a split one. Projectors, importance matrices and
// adapters are stored next to their models; unreadable files are judged by their names,
// and a name that begins with "mmproj" always means a projector.
bool is_gguf_model(const std::filesystem::path& path);

// The only model in the folder: a .gguf file, or the first part of a split one. Errors: NotFound (no .gguf file, nor
// any other kind of model), Unsupported (files that are not models by themselves), InvalidArgument (several, with their
// names).
Result<std::filesystem::path> find_gguf(const std::filesystem::path& folder);

// The files of a model: for the first part of a split one all parts in the same folder.
std::vector<std::filesystem::path> parts_of_gguf(const std::filesystem::path& path);

}  // namespace realizar
