#include "cli/path_completion.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace realizar::cli {
namespace {

constexpr size_t kMaxEntries = 10'000;  // examined in a folder

}  // namespace

std::vector<std::string> complete_path(std::string_view typed) {
  const size_t n_folder = typed.find_last_of('/') + 1;
  const std::string folder(typed.substr(0, n_folder));
  const std::string_view begun = typed.substr(n_folder);
  std::vector<std::string> paths;
  std::error_code error;
  std::filesystem::directory_iterator entries(folder.empty() ? "." : folder, error);
  for (size_t n = 0; !error && entries != std::filesystem::directory_iterator() && n < kMaxEntries; ++n) {
    const std::string name = entries->path().filename().string();
    const bool is_hidden = name.starts_with('.') && !begun.starts_with('.');
    std::error_code no_folder;
    if (name.starts_with(begun) && !is_hidden) {
      paths.push_back(folder + name + (entries->is_directory(no_folder) ? "/" : ""));
    }
    entries.increment(error);
  }
  std::ranges::sort(paths);
  return paths;
}

}  // namespace realizar::cli
