#include "server/models/prefix_folders.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <span>
#include <vector>

#include "base/caught.h"
#include "base/check.h"
#include "base/encodings.h"
#include "base/files.h"
#include "base/try.h"
#include "base/unfinished.h"
#include "engine/engine.h"
#include "engine/prefix_file.h"
#include "engine/prefixes.h"

namespace realizar::server {
namespace {

namespace fs = std::filesystem;

// File systems allow names of 255 bytes; an ending follows, and a longer one while the file is written.
constexpr size_t kMaxNameBytes = 200;
constexpr const char* kEnding = ".prefixes";
constexpr size_t kMaxSlotNameBytes = 128;
constexpr const char* kKeyFolder = ".key-";  // clients' names cannot begin with a dot

// The purpose of a folder, for error messages, and its option.
struct FolderUse {
  const char *kept, *subject;
};
constexpr FolderUse kForPrefixes{"cached prefixes", "cache_dir"}, kForSlots{"slots", "slot_save_path"};

Error cannot(const char* what, const std::string& folder, const FolderUse& use) {
  return invalid_argument(
      fmt::format("cannot {} the folder {} for {}: {}", what, folder, use.kept, std::strerror(errno)), use.subject);
}

Status make_folder(const std::string& folder, const FolderUse& use) {
  if (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return cannot("make", folder, use);
}

// Permissions alone do not show whether it is writable: root ignores them, and a file system may be read-only.
Status make_writable_folder(const std::string& folder, const FolderUse& use) {
  RZ_CHECK_OK(make_folder(folder, use));
  std::string probe = (fs::path(folder) / ".probe-XXXXXX").string();
  const int fd = ::mkostemp(probe.data(), O_CLOEXEC);
  if (fd < 0) return cannot("write in", folder, use);
  static_cast<void>(::close(fd));
  static_cast<void>(::unlink(probe.c_str()));
  return {};
}

bool is_plain(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '_';
}

// Letters, digits and marks are kept, other bytes become %XX: no slash, and no leading dot. The names of long ids end
// with their digest, and are longer than those of short ones.
std::string safe_name(const std::string& id) {
  std::string name;
  for (const char c : id) {
    const bool stays = is_plain(c) && (c != '.' || !name.empty());
    name += stays ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  if (name.size() <= kMaxNameBytes) return name;
  name.resize(kMaxNameBytes - 2 * sizeof(KeyDigest) + 1);
  return name + hex_of(digest_of(id));
}

// A temporary file of an earlier version: "model.prefixes.part4711", with a process id.
bool is_old_part(std::string_view name) {
  constexpr std::string_view kPart = ".prefixes.part";
  const size_t at = name.rfind(kPart);
  return at != std::string_view::npos && std::ranges::all_of(name.substr(at + kPart.size()), [](char c) {
           return std::isdigit(static_cast<unsigned char>(c)) != 0;
         });
}

// Overwrites a file's bytes with zeroes on the disk; false: errno has the reason.
bool zero_file(const FileDescriptor& file, off_t n_bytes) {
  const std::vector<char> zeroes(size_t{1} << 20);
  for (off_t at = 0; at < n_bytes;) {
    const auto n_now = std::min<size_t>(zeroes.size(), static_cast<size_t>(n_bytes - at));
    const ssize_t n_written = ::pwrite(file.get(), zeroes.data(), n_now, at);
    if (n_written <= 0) return false;
    at += n_written;
  }
  return ::fsync(file.get()) == 0;
}

// A writer that was killed at its beginning left nothing.
bool has_prefixes(const FileDescriptor& file, const struct stat& info, const std::string& path) {
  if (!S_ISREG(info.st_mode)) return false;
  const std::string name = fs::path(path).filename().string();
  if (info.st_size == 0) return is_unfinished_name(name) || is_old_part(name);
  std::string beginning(engine::kPrefixFileBeginning.size(), '\0');
  return read_exactly(file, std::as_writable_bytes(std::span(beginning))) && beginning == engine::kPrefixFileBeginning;
}

Error cannot_erase(const std::string& path, const std::string& why) {
  return invalid_argument(fmt::format("cannot erase {}: {}", path, why), "cache_dir");
}

// Its bytes may remain on the disk after its name is removed, so they are overwritten with zeroes first. Someone who
// may write to the folder could put another file there, or a second name of a file elsewhere: neither may lose a byte.
Status erase_file(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info {};
  const bool is_open = file.get() >= 0 && ::fstat(file.get(), &info) == 0;
  if (!is_open && errno == ENOENT) return {};
  const bool is_no_file = errno == ELOOP || errno == EISDIR || errno == ENXIO;  // a link, a folder, a socket
  if (!is_open && !is_no_file) return cannot_erase(path, std::strerror(errno));
  if (!is_open || !has_prefixes(file, info, path)) {
    spdlog::warn("{} is not a file of cached prefixes: it is left unchanged", path);
    return {};
  }
  if (info.st_nlink > 1) return cannot_erase(path, "the file has other names (hard links); remove them first");
  const bool is_zeroed = zero_file(file, info.st_size);
  int reason = errno;
  const bool is_gone = ::unlink(path.c_str()) == 0;
  if (!is_gone) reason = errno;
  return is_zeroed && is_gone ? Status() : Status(cannot_erase(path, std::strerror(reason)));
}

void sweep_slots(const fs::path& folder) {
  static_cast<void>(remove_abandoned(folder, [](const fs::path& path) {
    ::unlink(path.c_str());
    return Status();
  }));
}

// For all keys.
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

Result<std::unique_ptr<PrefixKeeper>> PrefixKeeper::open(const std::string& folder, uint64_t max_bytes_per_model) {
  RZ_CHECK_OK(make_writable_folder(folder, kForPrefixes));
  std::unique_ptr<PrefixKeeper> keeper(new PrefixKeeper(folder, max_bytes_per_model));
  if (const Status swept = keeper->erase_abandoned(); !swept.ok()) spdlog::warn("{}", swept.error().message);
  return keeper;
}

std::string PrefixKeeper::file_of(const std::string& id) const {
  return (fs::path(folder_) / (safe_name(id) + kEnding)).string();
}

void PrefixKeeper::restore(const std::string& id, LoadedModel& model) const {
  const auto source = model.source_hash();
  REQUIRE(source.has_value());
  const uint32_t n_blocks = model.engine->prefixes().load(file_of(id), *source);
  if (n_blocks > 0) spdlog::info("took {} blocks of cached prefixes of {} from {}", n_blocks, id, file_of(id));
}

void PrefixKeeper::keep(const std::string& id, const LoadedModel& model) {
  const auto source = model.source_hash();
  REQUIRE(source.has_value());
  const auto kept = caught([&] { return model.engine->prefixes().save(file_of(id), *source, max_bytes_); });
  if (kept.ok()) return spdlog::info("kept {} blocks of prefixes of {} in {}", *kept, id, file_of(id));
  spdlog::error("{}", kept.error().message);
  const std::lock_guard lock(mutex_);
  if (status_.ok()) status_ = kept.error();
}

Status PrefixKeeper::erase(const std::string& id) const {
  Status abandoned = erase_abandoned(), own = erase_file(file_of(id));
  return own.ok() ? std::move(abandoned) : std::move(own);
}

Status PrefixKeeper::erase_all() const {
  Status abandoned = erase_abandoned(),
         kept = erase_where([](std::string_view name) { return name.ends_with(kEnding); });
  return kept.ok() ? std::move(abandoned) : std::move(kept);
}

Status PrefixKeeper::erase_abandoned() const {
  Status status = remove_abandoned(folder_, [](const fs::path& path) { return erase_file(path.string()); });
  Status old = erase_where(is_old_part);
  return status.ok() ? std::move(old) : std::move(status);
}

Status PrefixKeeper::erase_where(const std::function<bool(std::string_view name)>& is_meant) const {
  std::error_code error;
  std::vector<std::string> paths;
  const fs::directory_iterator end;
  for (fs::directory_iterator entry(folder_, error); !error && entry != end; entry.increment(error)) {
    if (is_meant(entry->path().filename().string())) paths.push_back(entry->path().string());
  }
  if (error) return invalid_argument("cannot read the folder " + folder_ + ": " + error.message(), "cache_dir");
  Status first;
  for (const std::string& path : paths) {
    Status status = erase_file(path);
    if (first.ok()) first = std::move(status);
  }
  return first;
}

Status PrefixKeeper::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

Status check_slot_file_name(std::string_view name) {
  const bool is_name =
      !name.empty() && name.size() <= kMaxSlotNameBytes && name.front() != '.' && std::ranges::all_of(name, is_plain);
  if (is_name) return {};
  return invalid_argument(
      fmt::format("filename: expected 1 to {} letters, digits, dots, dashes and underscores, and no dot in front",
                  kMaxSlotNameBytes),
      "filename");
}

Result<std::unique_ptr<SlotFolder>> SlotFolder::open(const std::string& folder, uint64_t max_bytes_per_key) {
  RZ_CHECK_OK(make_writable_folder(folder, kForSlots));
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
  RZ_CHECK_OK(make_folder(folder.string(), kForSlots));
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
