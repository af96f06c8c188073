#include "server/models/prefix_keeper.h"

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
#include "base/files.h"
#include "base/unfinished.h"
#include "engine/engine.h"
#include "engine/prefix_file.h"
#include "engine/prefixes.h"
#include "server/http/auth.h"

namespace realizar::server {
namespace {

// File systems take names of 255 bytes; the file's ending comes after it, and more while it is written.
constexpr size_t kMaxNameBytes = 200;
constexpr const char* kEnding = ".prefixes";

// Letters, digits and marks stay, other bytes become %XX: no slash, and no dot in front. The names of long ids end with
// their digest, and are longer than those of short ones.
std::string safe_name(const std::string& id) {
  std::string name;
  for (const char c : id) {
    const bool is_plain =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || (c == '.' && !name.empty());
    name += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  if (name.size() <= kMaxNameBytes) return name;
  name.resize(kMaxNameBytes - 2 * sizeof(KeyDigest) + 1);
  return name + hex_of(digest_of(id));
}

// What earlier versions wrote into: "model.prefixes.part4711", with a process id.
bool is_old_part(std::string_view name) {
  constexpr std::string_view kPart = ".prefixes.part";
  const size_t at = name.rfind(kPart);
  return at != std::string_view::npos && std::ranges::all_of(name.substr(at + kPart.size()), [](char c) {
           return std::isdigit(static_cast<unsigned char>(c)) != 0;
         });
}

// Whether a file's bytes are zeroes on the disk; else errno says why not.
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

// A writer that was killed at once left nothing.
bool has_prefixes(const FileDescriptor& file, const struct stat& info, const std::string& path) {
  if (!S_ISREG(info.st_mode)) return false;
  const std::string name = std::filesystem::path(path).filename().string();
  if (info.st_size == 0) return is_unfinished_name(name) || is_old_part(name);
  std::string beginning(engine::kPrefixFileBeginning.size(), '\0');
  return read_exactly(file, std::as_writable_bytes(std::span(beginning))) && beginning == engine::kPrefixFileBeginning;
}

Error cannot_erase(const std::string& path, const std::string& why) {
  return invalid_argument(fmt::format("cannot erase {}: {}", path, why), "cache_dir");
}

// Its bytes may outlive a file's name on the disk: zeroes take their place first. Who may write to the folder could lay
// another file there, or a second name of one that lies elsewhere: neither may lose a byte.
Status erase_file(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info {};
  const bool is_open = file.get() >= 0 && ::fstat(file.get(), &info) == 0;
  if (!is_open && errno == ENOENT) return {};
  const bool is_no_file = errno == ELOOP || errno == EISDIR || errno == ENXIO;  // a link, a folder, a socket
  if (!is_open && !is_no_file) return cannot_erase(path, std::strerror(errno));
  if (!is_open || !has_prefixes(file, info, path)) {
    spdlog::warn("{} is no file of cached prefixes: it is left alone", path);
    return {};
  }
  if (info.st_nlink > 1) return cannot_erase(path, "the file has other names (hard links); remove them first");
  const bool is_zeroed = zero_file(file, info.st_size);
  int reason = errno;
  const bool is_gone = ::unlink(path.c_str()) == 0;
  if (!is_gone) reason = errno;
  return is_zeroed && is_gone ? Status() : Status(cannot_erase(path, std::strerror(reason)));
}

Error cannot_use(const std::string& folder, const char* what) {
  return invalid_argument(
      fmt::format("cannot {} in the folder {} for cached prefixes: {}", what, folder, std::strerror(errno)),
      "cache_dir");
}

}  // namespace

Result<std::unique_ptr<PrefixKeeper>> PrefixKeeper::open(const std::string& folder, uint64_t max_bytes_per_model) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return invalid_argument(
        fmt::format("cannot make the folder {} for cached prefixes: {}", folder, std::strerror(errno)), "cache_dir");
  }
  std::unique_ptr<PrefixKeeper> keeper(new PrefixKeeper(folder, max_bytes_per_model));
  // Permissions alone do not tell: root passes them, and a file system may be read-only.
  const std::string probe = (std::filesystem::path(folder) / ".probe").string();
  const int fd = ::open(probe.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return cannot_use(folder, "write");
  static_cast<void>(::close(fd));
  static_cast<void>(::unlink(probe.c_str()));
  if (const Status swept = keeper->erase_abandoned(); !swept.ok()) spdlog::warn("{}", swept.error().message);
  return keeper;
}

std::string PrefixKeeper::file_of(const std::string& id) const {
  return (std::filesystem::path(folder_) / (safe_name(id) + kEnding)).string();
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
  Status status =
      remove_abandoned(folder_, [](const std::filesystem::path& path) { return erase_file(path.string()); });
  Status old = erase_where(is_old_part);
  return status.ok() ? std::move(old) : std::move(status);
}

Status PrefixKeeper::erase_where(const std::function<bool(std::string_view name)>& is_meant) const {
  std::error_code error;
  std::vector<std::string> paths;
  const std::filesystem::directory_iterator end;
  for (std::filesystem::directory_iterator entry(folder_, error); !error && entry != end; entry.increment(error)) {
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

}  // namespace realizar::server
