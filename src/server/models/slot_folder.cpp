#include "server/models/slot_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/try.h"
#include "base/unfinished.h"

namespace realizar::server {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxSlotNameBytes = 128;
constexpr const char* kKeyFolder = ".key-";  // no client's name has a dot in front

Status make_folder(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return invalid_argument(fmt::format("cannot make the folder {} for slots: {}", folder, std::strerror(errno)),
                          "slot_save_path");
}

void sweep_slots(const fs::path& folder) {
  static_cast<void>(remove_abandoned(folder, [](const fs::path& path) {
    ::unlink(path.c_str());
    return Status();
  }));
}

// Of all keys.
void sweep_all_slots(const fs::path& folder) {
  sweep_slots(folder);
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    const bool is_of_key = entry->path().filename().string().starts_with(kKeyFolder);
    if (is_of_key && entry->symlink_status(ignored).type() == fs::file_type::directory) sweep_slots(entry->path());
  }
}

}  // namespace

Status check_slot_file_name(std::string_view name) {
  const auto may_stand = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '_';
  };
  const bool is_name = !name.empty() && name.size() <= kMaxSlotNameBytes && name.front() != '.' &&
                       std::all_of(name.begin(), name.end(), may_stand);
  if (is_name) return {};
  return invalid_argument(
      fmt::format("filename: expected 1 to {} letters, digits, dots, dashes and underscores, and no dot in front",
                  kMaxSlotNameBytes),
      "filename");
}

// Permissions alone do not tell whether it can be written to: root passes them, and a file system may be read-only.
Result<std::unique_ptr<SlotFolder>> SlotFolder::open(const std::string& folder, uint64_t max_bytes_per_key) {
  RZ_CHECK_OK(make_folder(folder));
  std::string probe = (fs::path(folder) / ".probe-XXXXXX").string();
  const int fd = ::mkstemp(probe.data());
  if (fd < 0) {
    return invalid_argument(fmt::format("cannot write in the folder {} for slots: {}", folder, std::strerror(errno)),
                            "slot_save_path");
  }
  static_cast<void>(::close(fd));
  static_cast<void>(::unlink(probe.c_str()));
  sweep_all_slots(folder);
  return std::unique_ptr<SlotFolder>(new SlotFolder(folder, max_bytes_per_key));
}

std::string SlotFolder::path_of(const KeyDigest& key, std::string_view name) const {
  fs::path path(folder_);
  if (key != KeyDigest{}) path /= kKeyFolder + hex_of(key);
  return (path / name).string();
}

Status SlotFolder::make_room(const std::string& path, uint64_t n_bytes) const {
  const fs::path folder = fs::path(path).parent_path();
  RZ_CHECK_OK(make_folder(folder.string()));
  sweep_slots(folder);
  std::error_code error;
  uint64_t n_used = 0;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    const bool is_counted = entry->path() != path && !is_unfinished_name(entry->path().filename().string());
    if (is_counted && entry->is_regular_file(ignored)) n_used += entry->file_size(ignored);
  }
  if (error)
    return invalid_argument(fmt::format("cannot read {}: {}", folder.string(), error.message()), "slot_save_path");
  if (n_bytes <= max_bytes_ && n_used <= max_bytes_ - n_bytes) return {};
  return Error{
      ErrorCode::kResourceExhausted,
      fmt::format("the slot takes {} bytes, and {} of {} bytes for saved slots are used", n_bytes, n_used, max_bytes_),
      "filename"};
}

}  // namespace realizar::server
