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

}  // namespace realizar
