// A Hugging Face folder: config.json, SafeTensors shards, and the files around them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "formats/hf_config.h"
#include "formats/model_file.h"
#include "formats/safetensors_reader.h"
#include "realizar/result.h"

namespace realizar {

struct HfFolder {
  std::filesystem::path root;  // the folder of config.json and the side files
  std::vector<MappedFile> maps;
  HfConfig config;
  std::vector<TensorInfo> tensors;
  std::vector<std::string> notes;  // as in ModelFile
};

// `path`: the folder, or one .safetensors file in it. Errors: NotFound (config.json, weights, a part, a module),
// Unsupported (a module), FormatError.
Result<HfFolder> open_hf_folder(const std::filesystem::path& path);

// Nullopt if there is no such file.
Result<std::optional<std::string>> read_optional(const std::filesystem::path& path);
// Converted for strict parsers (base/plain_json.h).
Result<std::optional<std::string>> read_optional_json(const std::filesystem::path& path);

Result<SideFiles> read_side_files(const std::filesystem::path& folder);

// Finds the SafeTensors files with the weights of a Hugging Face folder: by its index, or by their names.
struct FolderParts {
  std::vector<std::string> files;  // relative to the folder
  ShardMap index = {};             // the file of each tensor; empty without an index
  std::vector<std::string> notes = {};
};

// Does not open weights. Every returned file exists. Errors: NotFound (a part, by its name; or no weights at all),
// FormatError (an unreadable index), Unsupported (only PyTorch weights).
Result<FolderParts> find_folder_parts(const std::filesystem::path& folder);

}  // namespace realizar
