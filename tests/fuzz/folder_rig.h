// A folder of one process, for fuzz targets of the files in a model's folder.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace realizar::fuzz {

class ModelFolder {
 public:
  explicit ModelFolder(const std::string& name)
      : root_(std::filesystem::temp_directory_path() / (name + std::to_string(::getpid()))) {
    put("config.json", "{}");
  }
  ~ModelFolder() {
    std::error_code error;
    std::filesystem::remove_all(root_, error);
  }
  ModelFolder(const ModelFolder&) = delete;
  ModelFolder& operator=(const ModelFolder&) = delete;

  const std::filesystem::path& path() const { return root_; }
  void put(const std::string& name, std::string_view content) const {
    std::filesystem::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name, std::ios::binary) << content;
  }
  // A SafeTensors file of one tensor, which is one number.
  void put_tensor(const std::string& name, const std::string& tensor) const {
    const std::string header = "{\"" + tensor + R"(":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
    const uint64_t n = header.size();
    put(name, std::string(reinterpret_cast<const char*>(&n), sizeof n) + header + "\1\1\1\1");
  }

 private:
  std::filesystem::path root_;
};

}  // namespace realizar::fuzz
