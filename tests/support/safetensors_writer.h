// Builds a safetensors file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

namespace realizar::test {

class SafetensorsWriter {
 public:
  void add(const std::string& name, const char* dtype, const std::vector<uint64_t>& shape,
           std::span<const std::byte> bytes) {
    header_[name] = {{"dtype", dtype}, {"shape", shape}, {"data_offsets", {data_.size(), data_.size() + bytes.size()}}};
    data_.insert(data_.end(), bytes.begin(), bytes.end());
  }
  void write(const std::filesystem::path& path) const {
    const std::string header = header_.dump();
    const uint64_t n = header.size();
    std::ofstream out(path, std::ios::binary);
    out.write(reinterpret_cast<const char*>(&n), sizeof n);
    out << header;
    out.write(reinterpret_cast<const char*>(data_.data()), static_cast<std::streamsize>(data_.size()));
  }

 private:
  nlohmann::json header_;
  std::vector<std::byte> data_;
};

}  // namespace realizar::test
