// Any bytes as the config.json of a folder whose weights are an embedding: an error, or a config that can be printed
// and from which a forward pass can be outlined.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "model/forward.h"
#include "model/model.h"

namespace {

namespace fs = std::filesystem;

// A folder for this process's inputs, with their common weights.
class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "rz_model_config_XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = pattern;
    constexpr uint64_t kRows = 40, kCols = 32, kBytes = kRows * kCols * 2;
    const std::string header =
        R"({"model.embed_tokens.weight":{"dtype":"BF16","shape":[40,32],"data_offsets":[0,2560]}})";
    static_assert(kBytes == 2560);
    const uint64_t n = header.size();
    std::ofstream out(path_ / "model.safetensors", std::ios::binary);
    out.write(reinterpret_cast<const char*>(&n), sizeof n);
    out << header << std::string(kBytes, '\0');
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace realizar;
  static const Folder folder;
  std::ofstream(folder.path() / "config.json", std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  const auto file = ModelFile::open(folder.path());
  if (!file.ok()) return 0;
  const auto config = read_config(*file);
  if (!config.ok()) return 0;
  if (config->layers.size() != config->n_layers) std::abort();
  (void)to_string(*config);
  if (outline_forward(*config).ops.empty()) std::abort();
  return 0;
}
