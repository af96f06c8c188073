// Names of files that are one part of several, GGUF's and SafeTensors' alike: NAME-00001-of-00003.gguf.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace realizar {

struct PartName {
  std::string stem;  // NAME, with the folders before it
  uint32_t no = 1, count = 1;
  std::string of = "-of-", ending = ".gguf";  // as the file spells them

  std::string name_of(uint32_t part) const;  // spelled alike
  bool is_same_set(const PartName& other) const;
};

// `ending`: ".gguf" or ".safetensors". Letters count in any case. Nullopt: the name is that of no part.
std::optional<PartName> part_name(std::string_view file, std::string_view ending);

// The file in the folder that has the name, in this case of letters or else in another one. Nullopt: there is none.
std::optional<std::filesystem::path> find_in_any_case(const std::filesystem::path& folder, const std::string& name);

}  // namespace realizar
