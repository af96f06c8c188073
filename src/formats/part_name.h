// Names of files that are one part of several, for both GGUF and SafeTensors: NAME-00001-of-00003.gguf.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace realizar {

struct PartName {
  std::string stem;  // NAME, with its folders
  uint32_t no = 1, count = 1;
  std::string of = "-of-", ending = ".gguf";  // spelled as in the file's name

  std::string name_of(uint32_t part) const;  // in the same spelling
  bool is_same_set(const PartName& other) const;
};

// `ending`: ".gguf" or ".safetensors". Case is ignored. Nullopt: not the name of a part.
std::optional<PartName> part_name(std::string_view file, std::string_view ending);

// The file in the folder with this name, preferably in the same case. Nullopt: none.
std::optional<std::filesystem::path> find_in_any_case(const std::filesystem::path& folder, const std::string& name);

}  // namespace realizar
