#include "base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/amounts.h"
#include "base/try.h"
#include "base/unfinished.h"
#include "base/utf8.h"

namespace realizar {
namespace {

struct Opened {
  FileDescriptor fd;
  struct stat info;
};

// Without O_NONBLOCK, opening a FIFO would wait for its writer, and some devices wait too.
Result<Opened> open_for_reading(const std::string& name) {
  Opened opened{FileDescriptor(::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)), {}};
  if (opened.fd.get() < 0 || ::fstat(opened.fd.get(), &opened.info) != 0) {
    const int error = errno;
    if (error == ENOENT) return not_found("no such file: " + name, name);
    return invalid_argument("cannot open " + name + ": " + std::strerror(error), name);
  }
  return opened;
}

FileVersion version_of(const struct stat& info) {
  constexpr int64_t kNsASecond = 1'000'000'000;
  return {info.st_dev, info.st_ino, static_cast<uint64_t>(info.st_size),
          info.st_mtim.tv_sec * kNsASecond + info.st_mtim.tv_nsec};
}

Error not_regular(const std::string& name) {
  return invalid_argument(name + " is not a regular file", name);
}

Error full_disk(std::string message) {
  return {ErrorCode::kResourceExhausted, std::move(message), "disk"};
}

Error cannot_write(const std::string& path, int error_number) {
  const bool is_full = error_number == ENOSPC || error_number == EDQUOT || error_number == EFBIG;
  std::string message = "cannot write " + path + ": " + std::strerror(error_number);
  return is_full ? full_disk(std::move(message)) : invalid_argument(message, path);
}

Error too_large(const std::string& name, uint64_t max_bytes) {
  return format_error(name + ": expected at most " + std::to_string(max_bytes) + " bytes", name);
}

// Waits while a pipe is empty. 0 at the end.
ssize_t read_some(int fd, char* to, size_t n_bytes) {
  while (true) {
    const ssize_t n = ::read(fd, to, n_bytes);
    if (n >= 0) return n;
    if (errno == EAGAIN) {
      struct pollfd ready {
        fd, POLLIN, 0
      };
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return n;
    }
  }
}

Result<std::string> read_all(const FileDescriptor& fd, const std::string& name, uint64_t expected_bytes,
                             uint64_t max_bytes) {
  constexpr size_t kMinPiece = 4096;
  if (expected_bytes > max_bytes) return too_large(name, max_bytes);
  std::string text;
  while (true) {
    const size_t n_read = text.size();
    // One byte more than expected, to detect the end.
    const uint64_t left = expected_bytes > n_read ? expected_bytes - n_read + 1 : std::max(kMinPiece, n_read);
    text.resize(n_read + std::min<uint64_t>(left, max_bytes - n_read + 1));
    const ssize_t n = read_some(fd.get(), text.data() + n_read, text.size() - n_read);
    if (n < 0) return invalid_argument("cannot read " + name + ": " + std::strerror(errno), name);
    text.resize(n_read + static_cast<size_t>(n));
    if (text.size() > max_bytes) return too_large(name, max_bytes);
    if (n == 0) return text;
  }
}

std::string folder_name_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path().string() : ".";
}

// A new name survives a power failure once its folder is on the disk. Some file systems cannot synchronize a folder
// (EINVAL) and make names durable in another way.
bool sync_folder_of(const std::filesystem::path& path) {
  const FileDescriptor fd(::open(folder_name_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // A folder that is writable but not readable cannot be opened either.
  return fd.get() < 0 || ::fsync(fd.get()) == 0 || errno == EINVAL;
}

// Gives an open file a name. Errors: those of linkat(2), which also fails without /proc.
bool give_name(const FileDescriptor& fd, const std::string& path) {
  const std::string link = "/proc/self/fd/" + std::to_string(fd.get());
  return ::linkat(AT_FDCWD, link.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0;
}

// The mode of a new file in the folder of `path`, from umask and the folder's rules, if an open file can be given a
// name there. Older kernels ignore umask for a file without a name.
std::optional<mode_t> mode_of_nameable(const std::string& path, mode_t mode) {
  const std::string first = unfinished_path(path).string(), second = unfinished_path(path).string();
  const FileDescriptor fd(::open(first.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  struct stat info {};
  const bool can_be_named =
      fd.get() >= 0 && hold_unfinished(fd) && ::fstat(fd.get(), &info) == 0 && give_name(fd, second);
  if (can_be_named) ::unlink(second.c_str());
  if (fd.get() >= 0) ::unlink(first.c_str());
  return can_be_named ? std::optional<mode_t>(info.st_mode & 07777) : std::nullopt;
}

// The result is not open if the file system does not support files without names, or cannot name them later.
FileDescriptor open_nameless(const std::string& path, mode_t mode) {
  FileDescriptor fd(::open(folder_name_of(path).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode));
  if (fd.get() < 0) return fd;
  const auto own_mode = mode_of_nameable(path, mode);
  if (!own_mode || ::fchmod(fd.get(), *own_mode) != 0) return FileDescriptor();
  return fd;
}

}  // namespace

FileDescriptor::FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) ::close(fd_);
}

Result<OpenFile> open_regular_file(const std::filesystem::path& path) {
  const std::string name = path.string();
  RZ_TRY(Opened opened, open_for_reading(name));
  if (!S_ISREG(opened.info.st_mode)) return not_regular(name);
  const FileVersion version = version_of(opened.info);
  return OpenFile{std::move(opened.fd), version.n_bytes, version};
}

std::optional<FileVersion> version_at(const std::filesystem::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return std::nullopt;
  return version_of(info);
}

Result<std::string> read_file(const std::filesystem::path& path, uint64_t max_bytes) {
  RZ_TRY(const OpenFile file, open_regular_file(path));
  return read_all(file.fd, path.string(), file.n_bytes, max_bytes);
}

Result<std::string> read_file_or_pipe(const std::filesystem::path& path, uint64_t max_bytes) {
  const std::string name = path.string();
  RZ_TRY(const Opened opened, open_for_reading(name));
  const bool is_file = S_ISREG(opened.info.st_mode);
  if (!is_file && !S_ISFIFO(opened.info.st_mode)) return not_regular(name);
  RZ_TRY(std::string text,
         read_all(opened.fd, name, is_file ? static_cast<uint64_t>(opened.info.st_size) : 0, max_bytes));
  if (text.empty() && !is_file) return invalid_argument(name + " is a pipe without a writer", name);
  return without_byte_order_mark(std::move(text));
}

bool read_exactly(const FileDescriptor& fd, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = read_some(fd.get(), reinterpret_cast<char*>(bytes.data()), bytes.size());
    if (n <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return true;
}

Result<NewFile> NewFile::create(const std::filesystem::path& path, Readers readers) {
  std::string name = path.string();
  // An existing link or file is replaced, not followed or written to.
  if (readers == Readers::kOwnerAlone) return create_beside(std::move(name), 0600);
  struct stat info {};
  const bool is_there = ::stat(name.c_str(), &info) == 0;
  if (is_there && S_ISDIR(info.st_mode)) return invalid_argument("cannot write " + name + ": it is a folder", name);
  if (is_there && !S_ISREG(info.st_mode)) {
    FileDescriptor fd(::open(name.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (fd.get() < 0) return cannot_write(name, errno);
    ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) & ~O_NONBLOCK);
    return NewFile(std::move(name), "", std::move(fd), Stage::kDirect);
  }
  // A link keeps its target.
  std::error_code error;
  if (is_there) name = std::filesystem::canonical(path, error).string();
  return create_beside(std::move(name), is_there ? info.st_mode & 07777 : 0666);
}

Result<NewFile> NewFile::create_beside(std::string path, mode_t mode) {
  remove_abandoned_of(path);
  FileDescriptor nameless = open_nameless(path, mode);
  if (nameless.get() >= 0) {
    // Locked while it has a random name.
    static_cast<void>(hold_unfinished(nameless));
    return NewFile(std::move(path), "", std::move(nameless), Stage::kUnfinished);
  }
  constexpr int kMaxTries = 100;  // a sweep may take the name before it is locked
  for (int n_tries = 0; n_tries < kMaxTries; ++n_tries) {
    std::string beside = unfinished_path(path).string();
    FileDescriptor fd(::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
    if (fd.get() < 0) return cannot_write(path, errno);
    if (hold_unfinished(fd)) return NewFile(std::move(path), std::move(beside), std::move(fd), Stage::kUnfinished);
    ::unlink(beside.c_str());
  }
  return invalid_argument("cannot write " + path + ": another process removes what is not finished there", path);
}

NewFile::NewFile(std::string path, std::string beside, FileDescriptor fd, Stage stage)
    : path_(std::move(path)), beside_(std::move(beside)), fd_(std::move(fd)), stage_(stage) {}

NewFile::NewFile(NewFile&& other) noexcept
    : path_(std::move(other.path_)),
      beside_(std::exchange(other.beside_, {})),
      fd_(std::move(other.fd_)),
      stage_(other.stage_) {}

NewFile::~NewFile() {
  if (!beside_.empty()) ::unlink(beside_.c_str());
}

Error NewFile::failed(int error_number) const {
  return cannot_write(path_, error_number);
}

Status NewFile::reserve(uint64_t n_bytes) {
  if (stage_ != Stage::kUnfinished || n_bytes == 0) return {};
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && n_bytes > limit.rlim_cur) return failed(EFBIG);
  struct statvfs disk {};
  if (::fstatvfs(fd_.get(), &disk) != 0) return {};
  const uint64_t n_free = uint64_t{disk.f_bavail} * disk.f_frsize;
  // Some file systems do not report sizes, and some cannot reserve space.
  const bool is_full = disk.f_blocks != 0 && n_bytes > n_free;
  if (!is_full && ::fallocate(fd_.get(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(n_bytes)) == 0) return {};
  if (!is_full && errno != ENOSPC && errno != EDQUOT) return {};
  return full_disk("cannot write " + path_ + ": it needs " + bytes_text(n_bytes) + ", and " + bytes_text(n_free) +
                   " are free on that disk");
}

Status NewFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_.get(), bytes.data(), bytes.size());
    if (n < 0 && errno != EINTR) return failed(errno);
    if (n > 0) bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return {};
}

Status NewFile::rewrite(uint64_t at, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (n < 0 && errno != EINTR) return failed(errno);
    if (n <= 0) continue;
    bytes = bytes.subspan(static_cast<size_t>(n));
    at += static_cast<uint64_t>(n);
  }
  return {};
}

// A disk may report that it is full only when the file is synchronized or closed.
Status NewFile::sync() {
  return stage_ != Stage::kUnfinished || ::fsync(fd_.get()) == 0 ? Status() : failed(errno);
}

Status NewFile::remove_old() {
  if (stage_ != Stage::kUnfinished) return {};
  if (::unlink(path_.c_str()) != 0) return errno == ENOENT ? Status() : failed(errno);
  return sync_folder_of(path_) ? Status() : failed(errno);
}

// linkat(2) refuses a name that exists, and rename(2) replaces it.
Status NewFile::commit() {
  if (stage_ != Stage::kUnfinished) return {};
  RZ_CHECK_OK(sync());
  if (beside_.empty()) {
    std::string beside = unfinished_path(path_).string();
    if (!give_name(fd_, beside)) return failed(errno);
    beside_ = std::move(beside);
  }
  if (::rename(beside_.c_str(), path_.c_str()) != 0) return failed(errno);
  beside_.clear();
  stage_ = Stage::kCommitted;
  return sync_folder_of(path_) ? Status() : failed(errno);
}

std::string exposure_of(const std::string& path, std::string_view what, bool holds_secrets) {
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0) return {};
  const bool writable = (file.st_mode & S_IWOTH) != 0, readable = holds_secrets && (file.st_mode & S_IROTH) != 0;
  if (!writable && !readable) return {};
  return fmt::format("every user of this machine may {} {} in {} (mode {:04o}); chmod 600 ends that",
                     writable ? "change" : "read", what, path, file.st_mode & 07777);
}

}  // namespace realizar
