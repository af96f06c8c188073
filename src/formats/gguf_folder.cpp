#include "formats/gguf_folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "formats/foreign_files.h"

namespace realizar {
namespace {

constexpr size_t kMaxNamesShown = 12;

}  // namespace

bool is_gguf_model(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  const bool is_later_part = name.find("-of-") != std::string::npos && name.find("-00001-of-") == std::string::npos;
  return path.extension() == ".gguf" && !is_later_part && !name.starts_with("mmproj");
}

Result<std::filesystem::path> find_gguf(const std::filesystem::path& folder) {
  std::error_code error;
  std::vector<std::string> names;
  auto entry = std::filesystem::directory_iterator(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (is_gguf_model(entry->path())) names.push_back(entry->path().filename().string());
  }
  if (error) {
    return not_found(fmt::format("cannot read the folder {}: {}", folder.string(), error.message()), folder.string());
  }
  if (names.size() == 1) return folder / names.front();
  if (names.empty()) {
    const std::string advice = pytorch_folder_advice(folder);
    if (!advice.empty()) return unsupported(fmt::format("{}: {}", folder.string(), advice), folder.string());
    return not_found(
        fmt::format("there is no model in {}: expected a .gguf file, or config.json with .safetensors files",
                    folder.string()),
        folder.string());
  }
  std::sort(names.begin(), names.end());
  const size_t n_more = names.size() - std::min(names.size(), kMaxNamesShown);
  names.resize(names.size() - n_more);
  return invalid_argument(fmt::format("there are several models in {}, name one: {}{}", folder.string(),
                                      fmt::join(names, ", "), n_more > 0 ? fmt::format(" and {} more", n_more) : ""),
                          folder.string());
}

std::vector<std::filesystem::path> parts_of_gguf(const std::filesystem::path& path) {
  constexpr std::string_view kFirst = "-00001-of-";
  const std::string name = path.filename().string();
  const size_t at = name.find(kFirst);
  if (at == std::string::npos) return {path};
  const std::string before = name.substr(0, at + 1), after = name.substr(at + kFirst.size() - 4);
  std::vector<std::filesystem::path> parts;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(path.parent_path(), error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string other = entry->path().filename().string();
    const bool is_part = other.size() == name.size() && other.starts_with(before) && other.ends_with(after);
    const auto number = is_part ? other.substr(before.size(), 5) : "";
    if (is_part && std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; })) {
      parts.push_back(entry->path());
    }
  }
  return parts;
}

}  // namespace realizar
