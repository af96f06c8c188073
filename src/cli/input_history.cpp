#include "cli/input_history.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/files.h"
#include "base/try.h"
#include "hub/user_folders.h"

namespace realizar::cli {
namespace {

namespace fs = std::filesystem;

// Twice kMaxHistoryEntries of the maximum length, as JSON.
constexpr uint64_t kMaxHistoryFileBytes = uint64_t{1} << 28;

std::string line_of(std::string_view entry) {
  return nlohmann::json(entry).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

Error cannot_keep(const fs::path& path) {
  return invalid_argument("cannot keep the history in " + path.string() + ": " + std::strerror(errno), "history");
}

Status rewrite(const fs::path& path, const std::vector<std::string>& entries) {
  RZ_TRY(NewFile file, NewFile::create(path, Readers::kOwnerAlone));
  for (const std::string& entry : entries) RZ_CHECK_OK(file.write(line_of(entry)));
  return file.commit();
}

}  // namespace

std::optional<fs::path> history_path() {
  const auto folder = hub::state_folder();
  return folder ? std::optional(*folder / "history") : std::nullopt;
}

Status make_private_folders(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder, error)) return {};
  if (folder.has_parent_path()) RZ_CHECK_OK(make_private_folders(folder.parent_path()));
  if (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return cannot_keep(folder);
}

Result<std::vector<std::string>> read_history(const fs::path& path) {
  if (!version_at(path)) return std::vector<std::string>();
  RZ_TRY(const std::string text, read_file(path, kMaxHistoryFileBytes));
  std::vector<std::string> entries;
  std::istringstream lines(text);
  size_t n_lines = 0;
  for (std::string line; std::getline(lines, line); ++n_lines) {
    const auto entry = nlohmann::json::parse(line, nullptr, false);
    if (entry.is_string()) entries.push_back(entry.get<std::string>());
  }
  if (entries.size() > kMaxHistoryEntries) entries.erase(entries.begin(), entries.end() - kMaxHistoryEntries);
  if (n_lines > 2 * kMaxHistoryEntries) RZ_CHECK_OK(rewrite(path, entries));
  return entries;
}

Status append_history(const fs::path& path, std::string_view entry) {
  if (entry.size() > kMaxHistoryEntryBytes) return {};
  RZ_CHECK_OK(make_private_folders(path.parent_path()));
  const FileDescriptor file(
      ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600));
  struct stat info {};
  if (file.get() < 0 || ::fstat(file.get(), &info) != 0) return cannot_keep(path);
  if (!S_ISREG(info.st_mode)) {
    return invalid_argument("cannot keep the history in " + path.string() + ": it is not a regular file", "history");
  }
  if ((info.st_mode & 077) != 0 && ::fchmod(file.get(), 0600) != 0) return cannot_keep(path);
  // A single write, so that the lines of two concurrent chats do not mix.
  const std::string line = line_of(entry);
  if (::write(file.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) return cannot_keep(path);
  return {};
}

}  // namespace realizar::cli
