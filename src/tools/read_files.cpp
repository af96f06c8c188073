#include "tools/read_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <system_error>

#include "base/files.h"

namespace realizar {
namespace {

namespace fs = std::filesystem;

// Any file of the folder with one of these endings may be read.
void add_files_of(const fs::path& folder, std::initializer_list<std::string_view> endings,
                  std::vector<fs::path>& files) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (std::ranges::count(endings, entry->path().extension().string()) > 0) files.push_back(entry->path());
  }
}

void add_side_files(const fs::path& folder, std::vector<fs::path>& files) {
  add_files_of(folder, {".json", ".model", ".txt", ".jinja"}, files);
  files.push_back(folder / "1_Pooling" / "config.json");
}

}  // namespace

std::vector<fs::path> files_read_for(const ModelFile& model) {
  std::vector<fs::path> files = model.files();
  std::error_code error;
  if (model.format() == FileFormat::kGguf) return files;
  const bool is_folder = fs::is_directory(model.path(), error);
  add_side_files(is_folder ? model.path() : model.path().parent_path(), files);
  return files;
}

std::vector<fs::path> files_read_for(const fs::path& input) {
  std::error_code error;
  const fs::file_type type = fs::status(input, error).type();
  if (type != fs::file_type::regular && type != fs::file_type::directory) return {};
  std::vector<fs::path> files{input};
  if (const auto model = ModelFile::open(input); model.ok()) {
    for (fs::path& file : files_read_for(*model)) files.push_back(std::move(file));
  } else if (type == fs::file_type::directory) {
    add_side_files(input, files);
    add_files_of(input, {".gguf", ".safetensors"}, files);
  }
  return files;
}

Status check_not_read(const fs::path& output, std::span<const fs::path> files) {
  const auto there = version_at(output);
  if (!there) return {};
  for (const fs::path& file : files) {
    const auto version = version_at(file);
    if (!version || !version->is_same_file(*there)) continue;
    return invalid_argument(fmt::format("{} would replace {}, which is read", output.string(), file.string()),
                            output.string());
  }
  return {};
}

}  // namespace realizar
