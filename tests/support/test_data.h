// Finds the tests' data files: below the folder in the environment variable REALIZAR_TEST_DATA, otherwise below `data`
// next to the program's own folder, as in a packed build, otherwise in the source that the program was built from.
// REALIZAR_TEST_SHARED names the folder of large data in the same way.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace realizar::test {

inline std::filesystem::path data_root(const char* variable, const char* packed, const char* built) {
  namespace fs = std::filesystem;
  if (const char* named = std::getenv(variable); named != nullptr && *named != '\0') return named;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path beside = program.parent_path().parent_path() / packed;
  return !error && fs::is_directory(beside, error) ? beside : fs::path(built);
}

// `path` relative to the source: "tests/data/...", "models/...".
inline std::string source_file(const std::string& path) {
  return (data_root("REALIZAR_TEST_DATA", "data", RZ_SOURCE_DIR) / path).string();
}
inline std::string shared_file(const std::string& path) {
  return (data_root("REALIZAR_TEST_SHARED", "shared", RZ_SHARED_DIR) / path).string();
}

}  // namespace realizar::test
