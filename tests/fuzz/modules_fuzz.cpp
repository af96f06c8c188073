// Any bytes as the list of a folder's modules: an error, or modules in the folder, whose files exist.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "folder_rig.h"
#include "formats/folder_modules.h"
#include "formats/model_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace realizar;
  static const fuzz::ModelFolder folder("rz_modules_fuzz");
  static const bool is_filled = [] {
    folder.put_tensor("model.safetensors", "own");
    folder.put("1_Pooling/config.json", R"({"pooling_mode_mean_tokens":true})");
    for (const char* name : {"2_Dense", "3_Dense"}) {
      folder.put(std::string(name) + "/config.json", R"({"activation_function":"torch.nn.Identity"})");
      folder.put_tensor(std::string(name) + "/model.safetensors", "linear.weight");
    }
    return true;
  }();
  if (!is_filled) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  folder.put(kModulesName, text);
  const auto modules = parse_folder_modules(text, "modules.json");
  if (modules.ok()) {
    for (const FolderModule& module : *modules) {
      const std::filesystem::path path(module.path);
      if (path.is_absolute() || (!path.empty() && *path.begin() == "..")) std::abort();
    }
  }
  const auto found = read_folder_modules(folder.path());
  if (found.ok()) {
    if (!modules.ok() || found->transformer.empty()) std::abort();
    for (const auto& file : found->files()) {
      if (!std::filesystem::exists(file)) std::abort();
    }
  }
  const auto file = ModelFile::open(folder.path());
  if (file.ok() && !found.ok()) std::abort();
  return 0;
}
