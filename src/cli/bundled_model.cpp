#include "cli/bundled_model.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/try.h"
#include "cli/output.h"
#include "hub/user_folders.h"

namespace realizar::cli {

Result<std::string> bundled_model_path(const std::string& command) {
  const std::filesystem::path file = hub::bundled_file();
  if (!file.empty()) return file.string();
  std::error_code error;
  return not_found(fmt::format("the bundled model is not beside {}; name a model: realizar {} MODEL",
                               std::filesystem::read_symlink("/proc/self/exe", error).string(), command),
                   hub::kBundledModel);
}

Result<std::string> bundled_in_place(const std::string& command, std::string_view does) {
  RZ_TRY(std::string path, bundled_model_path(command));
  warn(fmt::format("no model was named; {}, {}", bundled_text(), does));
  return path;
}

std::string bundled_text() {
  return fmt::format("{}, a toy of 4.5 million parameters", hub::kBundledModel);
}

}  // namespace realizar::cli
