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
  return (std::filesystem::path(folder_) / (safe_name(id) + ".prefixes")).string();
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

// Its bytes may outlive a file's name on the disk: zeroes take their place first.
Status PrefixKeeper::erase(const std::string& id) const {
  const std::string path = file_of(id);
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (file.get() < 0 && errno == ENOENT) return {};
  struct stat info {};
  bool is_erased = file.get() >= 0 && ::fstat(file.get(), &info) == 0;
  const std::vector<char> zeroes(size_t{1} << 20);
  for (off_t at = 0; is_erased && at < info.st_size;) {
    const auto n_bytes = std::min<size_t>(zeroes.size(), static_cast<size_t>(info.st_size - at));
    const ssize_t n_written = ::pwrite(file.get(), zeroes.data(), n_bytes, at);
    is_erased = n_written > 0;
    at += n_written;
  }
  is_erased = is_erased && ::fsync(file.get()) == 0;
  // The name goes in any case.
  const int reason = errno;
  if (::unlink(path.c_str()) == 0 && is_erased) return {};
  return invalid_argument(fmt::format("cannot erase {}: {}", path, std::strerror(reason)), "cache_dir");
}

Status PrefixKeeper::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

}  // namespace realizar::server
