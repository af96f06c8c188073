// The SafeTensors files that hold the weights of a Hugging Face folder: as its index says, or by their names.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "formats/safetensors_reader.h"
#include "realizar/result.h"

namespace realizar {

struct FolderParts {
  std::vector<std::string> files;  // below the folder
  ShardMap index = {};             // the file of each tensor; empty where there is no index
  std::vector<std::string> notes = {};
};

// Opens no weights. Every file that is given is there. Errors: NotFound (a part, by its name; or no weights at all),
// FormatError (an index that cannot be read), Unsupported (PyTorch's weights alone).
Result<FolderParts> find_folder_parts(const std::filesystem::path& folder);

}  // namespace realizar
