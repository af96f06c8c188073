#include "base/unfinished.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/random_bytes.h"

namespace realizar {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".part";
constexpr size_t kRandomDigits = 16, kSuffixBytes = 1 + kRandomDigits + kEnding.size();
// File systems limit names to 255 bytes: longer names are cut, and may then share their beginning.
constexpr size_t kMaxBeginning = 255 - kSuffixBytes;

std::string beginning_of(const fs::path& path) {
  return ("." + path.filename().string()).substr(0, kMaxBeginning);
}

uint64_t random_number() {
  uint64_t number = 0;
  fill_randomly(std::as_writable_bytes(std::span(&number, 1)));
  return number;
}

bool lock_alone(const FileDescriptor& fd) {
  int result = 0;
  do {
    result = ::flock(fd.get(), LOCK_EX | LOCK_NB);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

// The lock of an abandoned file, or not open. O_NONBLOCK: never waits, whatever the path is.
FileDescriptor lock_of_abandoned(const fs::path& path) {
  constexpr int kFlags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  FileDescriptor fd(::open(path.c_str(), O_RDWR | kFlags));
  if (fd.get() < 0) fd = FileDescriptor(::open(path.c_str(), O_RDONLY | kFlags));
  struct stat info {};
  const bool is_ours =
      fd.get() >= 0 && ::fstat(fd.get(), &info) == 0 && (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode));
  if (is_ours && lock_alone(fd)) return fd;
  return FileDescriptor();
}

// A writer that renames its file between the two calls has no file under this name any more.
Status remove_if_abandoned(const fs::path& path, const std::function<Status(const fs::path&)>& remove) {
  const FileDescriptor lock = lock_of_abandoned(path);
  return lock.get() < 0 ? Status() : remove(path);
}

std::vector<fs::path> unfinished_in(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (is_unfinished_name(entry->path().filename().string())) paths.push_back(entry->path());
  }
  return paths;
}

}  // namespace

fs::path unfinished_path(const fs::path& path) {
  return path.parent_path() / fmt::format("{}.{:016x}{}", beginning_of(path), random_number(), kEnding);
}

bool is_unfinished_name(std::string_view name) {
  if (name.size() <= 1 + kSuffixBytes || name.front() != '.' || !name.ends_with(kEnding)) return false;
  const std::string_view suffix = name.substr(name.size() - kSuffixBytes);
  return suffix.front() == '.' && std::ranges::all_of(suffix.substr(1, kRandomDigits), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

bool hold_unfinished(const FileDescriptor& fd) {
  if (!lock_alone(fd)) return errno != EWOULDBLOCK;
  struct stat info {};
  return ::fstat(fd.get(), &info) == 0 && info.st_nlink > 0;
}

Status remove_abandoned(const fs::path& folder, const std::function<Status(const fs::path&)>& remove) {
  Status first;
  for (const fs::path& path : unfinished_in(folder)) {
    Status status = remove_if_abandoned(path, remove);
    if (first.ok()) first = std::move(status);
  }
  return first;
}

void remove_abandoned_of(const fs::path& path) {
  const std::string beginning = beginning_of(path);
  for (const fs::path& other : unfinished_in(path.has_parent_path() ? path.parent_path() : fs::path("."))) {
    const std::string name = other.filename().string();
    if (name.substr(0, name.size() - kSuffixBytes) != beginning) continue;
    static_cast<void>(remove_if_abandoned(other, [](const fs::path& abandoned) {
      std::error_code ignored;
      fs::remove_all(abandoned, ignored);
      return Status();
    }));
  }
}

}  // namespace realizar
