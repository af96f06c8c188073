// The parts of a folder of sentence-transformers (modules.json): a transformer, how its states become one vector,
// and the products after that, each in a folder of its own.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "realizar/result.h"

namespace realizar {

struct FolderModule {
  std::string kind;  // the last word of its class: "Pooling"
  std::string path;  // below the folder; "": the folder itself

  bool has_files() const { return kind != "Normalize" && kind != "Dropout"; }
};

constexpr const char* kModulesName = "modules.json";
constexpr uint64_t kMaxModulesBytes = 1 << 20;

// In the order in which they follow each other. Errors: FormatError (what is no list of modules, a path that leaves the
// folder).
Result<std::vector<FolderModule>> parse_folder_modules(std::string_view json, const std::string& file);

// A folder's modules, checked: those that can be computed, in an order that can, and with their files.
struct FolderModules {
  std::filesystem::path transformer;              // the folder of config.json, the weights and the tokenizer
  std::filesystem::path pooling = {};             // its config.json; empty: there is none
  std::vector<std::filesystem::path> dense = {};  // folders

  // The files that are read beside the transformer's folder.
  std::vector<std::filesystem::path> files() const;
};

// Without modules.json: the folder itself, and what lies in 1_Pooling, 2_Dense and 3_Dense. Errors: NotFound (a module
// that is named and not there), Unsupported (one that cannot be computed), FormatError.
Result<FolderModules> read_folder_modules(const std::filesystem::path& folder);

// Whether the folder is a model of Hugging Face's, by config.json or modules.json. Makers of GGUF files often put them
// beside a config.json: such a folder is not.
bool is_hf_folder(const std::filesystem::path& folder);

}  // namespace realizar
