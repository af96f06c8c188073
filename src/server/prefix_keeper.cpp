#include "server/prefix_keeper.h"

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
#include <vector>

#include "base/caught.h"
#include "base/check.h"
#include "base/files.h"
#include "server/auth.h"

namespace realizar::server {
namespace {

// File systems take names of 255 bytes; the file's ending, and ".part" with a process id while it is written, come
// after it.
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
  const KeyDigest digest = digest_of(id);
  name.resize(kMaxNameBytes - 2 * digest.size() + 1);
  for (const uint8_t byte : digest) name += fmt::format("{:02x}", byte);
  return name;
}

// Whether a file's bytes are zeroes on the disk; else errno says why not.
bool zero_file(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info {};
  if (file.get() < 0 || ::fstat(file.get(), &info) != 0) return false;
  const std::vector<char> zeroes(size_t{1} << 20);
  for (off_t at = 0; at < info.st_size;) {
    const auto n_bytes = std::min<size_t>(zeroes.size(), static_cast<size_t>(info.st_size - at));
    const ssize_t n_written = ::pwrite(file.get(), zeroes.data(), n_bytes, at);
    if (n_written <= 0) return false;
    at += n_written;
  }
  return ::fsync(file.get()) == 0;
}

// Its bytes may outlive a file's name on the disk: zeroes take their place first. What is no regular file has none. The
// name goes in any case.
Status erase_file(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0 && errno == ENOENT) return {};
  const bool is_zeroed = !S_ISREG(info.st_mode) || zero_file(path);
  int reason = errno;
  const bool is_gone = ::unlink(path.c_str()) == 0;
  if (!is_gone) reason = errno;
  if (is_zeroed && is_gone) return {};
  return invalid_argument(fmt::format("cannot erase {}: {}", path, std::strerror(reason)), "cache_dir");
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
  return keeper;
}

std::string PrefixKeeper::file_of(const std::string& id) const {
  return (std::filesystem::path(folder_) / (safe_name(id) + kEnding)).string();
}

void PrefixKeeper::restore(const std::string& id, LoadedModel& model) const {
  const auto source = model.source_hash();
  REQUIRE(source.has_value());
  const uint32_t n_blocks = model.engine->load_cache(file_of(id), *source);
  if (n_blocks > 0) spdlog::info("took {} blocks of cached prefixes of {} from {}", n_blocks, id, file_of(id));
}

void PrefixKeeper::keep(const std::string& id, const LoadedModel& model) {
  const auto source = model.source_hash();
  REQUIRE(source.has_value());
  const auto kept = caught([&] { return model.engine->save_cache(file_of(id), *source, max_bytes_); });
  if (kept.ok()) return spdlog::info("kept {} blocks of prefixes of {} in {}", *kept, id, file_of(id));
  spdlog::error("{}", kept.error().message);
  const std::lock_guard lock(mutex_);
  if (status_.ok()) status_ = kept.error();
}

Status PrefixKeeper::erase(const std::string& id) const {
  return erase_file(file_of(id));
}

// Those of models that are not served any more too, and what a process left that ended while it wrote.
Status PrefixKeeper::erase_all() const {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<std::string> paths;
  for (fs::directory_iterator entry(folder_, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const bool is_part = name.find(std::string(kEnding) + ".part") != std::string::npos;
    if (name.ends_with(kEnding) || is_part) paths.push_back(entry->path().string());
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
