// llama.cpp's download folder, where each file of a repository has a flat name: OWNER_REPO_FILE.gguf, or FILE.gguf if
// it came from another address. Used in place and never written to.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "hub/local_model.h"
#include "hub/name.h"

namespace realizar::hub {

// Files of a recognized repository have Hugging Face names; others have the name of their file, without its suffix.
// Nullopt: absent or incomplete.
std::optional<LocalModel> find_in_llama_cache(const std::filesystem::path& folder, const ModelName& name);
std::vector<LocalModel> list_llama_cache(const std::filesystem::path& folder);

}  // namespace realizar::hub
