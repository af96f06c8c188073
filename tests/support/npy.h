// Reads a NumPy file of float32 (format 1.0, C order), the format of the expected logits.
#pragma once

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

namespace realizar::test {

inline std::vector<float> read_npy(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::vector<char> bytes(std::istreambuf_iterator<char>(in), {});
  if (bytes.size() < 10) return {};
  const size_t start = 10 + static_cast<unsigned char>(bytes[8]) + 256u * static_cast<unsigned char>(bytes[9]);
  std::vector<float> values((bytes.size() - start) / sizeof(float));
  std::memcpy(values.data(), bytes.data() + start, values.size() * sizeof(float));
  return values;
}

}  // namespace realizar::test
