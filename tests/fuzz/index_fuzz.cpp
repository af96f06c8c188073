// Any bytes as the index of a folder's parts: an error, or the tensors in its parts, each once.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "folder_rig.h"
#include "formats/hf_folder.h"
#include "formats/model_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace realizar;
  static const fuzz::ModelFolder folder("rz_index_fuzz");
  static const bool is_filled = [] {
    folder.put_tensor("model-00001-of-00002.safetensors", "a");
    folder.put_tensor("model-00002-of-00002.safetensors", "b");
    folder.put_tensor("other.safetensors", "a");
    return true;
  }();
  if (!is_filled) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  folder.put("model.safetensors.index.json", text);
  const auto shards = parse_safetensors_index(text, "index.json");
  if (shards.ok()) {
    for (const auto& [tensor, shard] : *shards) {
      const std::filesystem::path path(shard);
      if (path.empty() || path.is_absolute() || *path.begin() == ".." || path != path.lexically_normal()) std::abort();
    }
  }
  const auto parts = find_folder_parts(folder.path());
  if (parts.ok() && (!shards.ok() || parts->files.empty())) std::abort();
  const auto file = ModelFile::open(folder.path());
  if (file.ok() && (file->tensors().empty() || file->tensors().size() > 2)) std::abort();
  return 0;
}
