#include "tools/read_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/ascii_case.h"
#include "base/files.h"
#include "formats/folder_modules.h"

namespace realizar {
namespace {

namespace fs = std::filesystem;

// Any file of the folder with one of these suffixes may be read.
void add_files_of(const fs::path& folder, std::initializer_list<std::string_view> endings,
                  std::vector<fs::path>& files) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (std::ranges::count(endings, entry->path().extension().string()) > 0) files.push_back(entry->path());
  }
}

void add_side_files(const fs::path& folder, std::vector<fs::path>& files) {
  const auto modules = read_folder_modules(folder);
  const fs::path transformer = modules.ok() ? modules->transformer : folder;
  add_files_of(folder, {".json", ".model", ".txt", ".jinja"}, files);
  add_files_of(transformer / kTemplateFolder, {".jinja"}, files);
  if (transformer != folder) add_files_of(transformer, {".json", ".model", ".txt", ".jinja"}, files);
  if (!modules.ok()) return;
  for (fs::path& file : modules->files()) files.push_back(std::move(file));
}

bool is_read_by_name(const fs::path& file) {
  constexpr std::string_view kEndings[] = {".gguf", ".safetensors", ".prefixes"};
  const std::string name = file.filename().string();
  return name.starts_with("sha256") ||
         std::ranges::any_of(kEndings, [&](std::string_view ending) { return ends_with_ignoring_case(name, ending); });
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

std::vector<fs::path> files_read_below(const fs::path& folder) {
  constexpr size_t kMaxEntries = 100'000;
  constexpr int kMaxDepth = 8;  // also ends cycles of links
  constexpr auto kOptions =
      fs::directory_options::follow_directory_symlink | fs::directory_options::skip_permission_denied;
  std::vector<fs::path> files;
  std::set<fs::path> folders_with_sides;
  std::error_code error;
  size_t n_entries = 0;
  for (fs::recursive_directory_iterator entry(folder, kOptions, error), end;
       !error && entry != end && ++n_entries <= kMaxEntries; entry.increment(error)) {
    if (entry.depth() >= kMaxDepth) entry.disable_recursion_pending();
    const fs::path& path = entry->path();
    if (!is_read_by_name(path)) continue;
    files.push_back(path);
    if (ends_with_ignoring_case(path.filename().string(), ".safetensors"))
      folders_with_sides.insert(path.parent_path());
  }
  for (const fs::path& sides : folders_with_sides) add_side_files(sides, files);
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
