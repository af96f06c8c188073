// Finds the SafeTensors files with the weights of a Hugging Face folder: by its index, or by their names.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "formats/safetensors_reader.h"
#include "realizar/result.h"

namespace realizar {

struct FolderParts {
  std::vector<std::string> files;  // relative to the folder
  ShardMap index = {};             // the file of each tensor; empty without an index
  std::vector<std::string> notes = {};
};

// Does not open weights. Every returned file exists. Errors: NotFound (a part, by its name; or no weights at all),
// FormatError (an unreadable index), Unsupported (only PyTorch weights).
Result<FolderParts> find_folder_parts(const std::filesystem::path& folder);

}  // namespace realizar
