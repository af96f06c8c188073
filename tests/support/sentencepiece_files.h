// The SentencePiece models of tests/data. Most have the same table of characters, which follows its name and its
// length: only bpe.model contains it; the other files are stored without it.
#pragma once

#include <fstream>
#include <iterator>
#include <string>

namespace realizar::test {

inline std::string sentencepiece_file(const std::string& name) {
  const std::string folder = RZ_SOURCE_DIR "/tests/data/sentencepiece/";
  const auto read = [](const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const std::string before_table("\x0a\x08nmt_nfkc\x12\xf9\xbf\x0e");
  constexpr size_t kTableBytes = 0x79 | 0x3f << 7 | 0x0e << 14;
  std::string model = read(folder + name + ".model");
  const size_t at = model.find(before_table);
  if (name == "bpe" || at == std::string::npos) return model;
  const std::string whole = read(folder + "bpe.model");
  return model.insert(at + before_table.size(), whole, whole.find(before_table) + before_table.size(), kTableBytes);
}

}  // namespace realizar::test
