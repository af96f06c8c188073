#include "cli/written_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/try.h"
#include "cli/store_flags.h"
#include "tools/read_files.h"

namespace realizar::cli {
namespace {

namespace fs = std::filesystem;

bool names_a_file(const std::string& text) {
  return !text.empty() && text != "-";
}

StoreFlags store_of(const CommandRow& command) {
  StoreFlags store;
  for (const OptionRow& row : command.options) {
    if (row.has_name("--models-store") && !row.given.empty()) store.folder = row.given.back();
  }
  return store;
}

// A value may have a name before the file (ID=PATH) and a number after it (PATH=SCALE).
std::vector<std::string> possible_files(const std::string& text) {
  std::vector<std::string> files{text};
  const size_t first = text.find('='), last = text.rfind('=');
  if (first == std::string::npos) return files;
  files.push_back(text.substr(0, last));
  files.push_back(text.substr(first + 1));
  if (first < last) files.push_back(text.substr(first + 1, last - first - 1));
  return files;
}

void add_files(const std::string& text, const StoreFlags& store, std::vector<fs::path>& files) {
  for (const std::string& possible : possible_files(text)) {
    if (!names_a_file(possible)) continue;
    std::string path = possible;
    if (!version_at(path)) {
      const auto found = store.find(path);
      if (!found.ok()) continue;
      path = found->path;
    }
    for (fs::path& file : files_read_for(path)) files.push_back(std::move(file));
  }
}

void add_files_below(const OptionRow& row, const StoreFlags& store, std::vector<fs::path>& files) {
  std::vector<std::string> folders = row.values();
  if (row.has_name("--models-store")) folders = {store.library().store().root().string()};
  for (const std::string& folder : folders) {
    for (fs::path& file : files_read_below(folder)) files.push_back(std::move(file));
  }
}

// A path without a file yet cannot be compared by inode.
bool is_same_place(const fs::path& a, const fs::path& b) {
  std::error_code error;
  const auto version_a = version_at(a), version_b = version_at(b);
  if (version_a && version_b) return version_a->is_same_file(*version_b);
  return fs::weakly_canonical(a, error) == fs::weakly_canonical(b, error);
}

Status check_apart(const std::vector<fs::path>& outputs) {
  std::error_code error;
  for (size_t i = 1; i < outputs.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      if (!is_same_place(outputs[i], outputs[k])) continue;
      // Both may be /dev/null.
      if (fs::exists(outputs[i], error) && !fs::is_regular_file(outputs[i], error)) continue;
      return invalid_argument(fmt::format("{} would be written twice", outputs[i].string()), outputs[i].string());
    }
  }
  return {};
}

}  // namespace

Status check_written_files(const CommandRow& command, const CommandRow& common) {
  std::vector<fs::path> outputs;
  for (const OptionRow& row : command.options) {
    if (!row.is_written) continue;
    for (const std::string& text : row.values()) {
      if (names_a_file(text)) outputs.emplace_back(text);
    }
  }
  RZ_CHECK_OK(check_apart(outputs));
  std::error_code error;
  std::erase_if(outputs, [&](const fs::path& output) { return !fs::is_regular_file(output, error); });
  if (outputs.empty()) return {};
  std::vector<fs::path> files;
  const StoreFlags store = store_of(command);
  for (const CommandRow* some : {&command, &common}) {
    for (const OptionRow& row : some->options) {
      if (row.is_written) continue;
      if (row.completes == Completes::kFolder) add_files_below(row, store, files);
      if (!row.is_read) continue;
      for (const std::string& text : row.values()) add_files(text, store, files);
    }
  }
  for (const fs::path& output : outputs) RZ_CHECK_OK(check_not_read(output, files));
  return {};
}

}  // namespace realizar::cli
