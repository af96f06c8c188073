// llama.cpp's folder of downloads, where each file of a repository has a flat name: OWNER_REPO_FILE.gguf, or FILE.gguf
// where it came from another address. Used as it is and never written to.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "hub/local_model.h"
#include "hub/name.h"

namespace realizar::hub {

// Names of Hugging Face's, for files whose repository can be told; others have the name of their file, without its
// ending. Nullopt: it is not there, or not whole.
std::optional<LocalModel> find_in_llama_cache(const std::filesystem::path& folder, const ModelName& name);
std::vector<LocalModel> list_llama_cache(const std::filesystem::path& folder);

}  // namespace realizar::hub
