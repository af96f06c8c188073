// The modules of a sentence-transformers folder (modules.json): a transformer, the pooling of its states to one vector,
// and the products after that, each in its own folder.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "realizar/result.h"

namespace realizar {

struct FolderModule {
  std::string kind;  // the last part of its class name: "Pooling"
  std::string path;  // relative to the folder; "": the folder itself

  bool has_files() const { return kind != "Normalize" && kind != "Dropout"; }
};

constexpr const char* kModulesName = "modules.json";
constexpr uint64_t kMaxModulesBytes = 1 << 20;

// In their order of execution. Errors: FormatError (not a list of modules, a path that leaves the folder).
Result<std::vector<FolderModule>> parse_folder_modules(std::string_view json, const std::string& file);

// A folder's modules, checked: all are supported, in a supported order, and have their files.
struct FolderModules {
  std::filesystem::path transformer;              // the folder with config.json, the weights and the tokenizer
  std::filesystem::path pooling = {};             // its config.json; empty: no such module
  std::vector<std::filesystem::path> dense = {};  // folders

  // The files that are read in addition to the transformer's folder.
  std::vector<std::filesystem::path> files() const;
};

// Without modules.json: the folder itself, and the folders 1_Pooling, 2_Dense and 3_Dense in it. Errors: NotFound (a
// module that is named but missing), Unsupported (a module that is not supported), FormatError.
Result<FolderModules> read_folder_modules(const std::filesystem::path& folder);

// Whether the folder is a Hugging Face model, by config.json or modules.json. Makers of GGUF files often add a
// config.json to their folder, which does not count.
bool is_hf_folder(const std::filesystem::path& folder);

}  // namespace realizar
