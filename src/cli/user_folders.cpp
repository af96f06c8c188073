#include "cli/user_folders.h"

#include <cstdlib>

namespace realizar::cli {
namespace {

namespace fs = std::filesystem;

// A relative path is invalid by the specification.
std::optional<fs::path> folder_in(const char* variable, const char* below_home) {
  const char* base = std::getenv(variable);
  if (base != nullptr && base[0] == '/') return fs::path(base) / "realizar";
  const char* home = std::getenv("HOME");
  if (home == nullptr || home[0] != '/') return std::nullopt;
  return fs::path(home) / below_home / "realizar";
}

}  // namespace

std::optional<fs::path> state_folder() {
  return folder_in("XDG_STATE_HOME", ".local/state");
}

std::optional<fs::path> cache_folder() {
  return folder_in("XDG_CACHE_HOME", ".cache");
}

}  // namespace realizar::cli
