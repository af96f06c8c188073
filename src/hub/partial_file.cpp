#include "hub/partial_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/amounts.h"
#include "base/try.h"
#include "hub/hash.h"

namespace realizar::hub {
namespace {

constexpr size_t kHeaderBytes = 128;      // of the journal; followed by a row of 8 bytes for each piece
constexpr uint64_t kRowEvery = 1u << 20;  // bytes of a piece between updates of its row
constexpr uint64_t kBlockBytes = 512;     // unit of stat()
constexpr uint64_t kMinPiece = 4u << 20, kMaxPiece = 64u << 20, kUsualPieces = 128;

uint64_t piece_bytes(uint64_t n_bytes) {
  return std::clamp((n_bytes + kUsualPieces - 1) / kUsualPieces, kMinPiece, kMaxPiece);
}

bool write_all(int fd, const char* data, size_t n_bytes, uint64_t at) {
  while (n_bytes > 0) {
    const ssize_t n = ::pwrite(fd, data, n_bytes, static_cast<off_t>(at));
    if (n < 0 && errno != EINTR) return false;
    if (n <= 0) continue;
    data += n;
    at += static_cast<uint64_t>(n);
    n_bytes -= static_cast<size_t>(n);
  }
  return true;
}

// 0 where the file ends.
ssize_t read_at(int fd, void* data, size_t n_bytes, uint64_t at) {
  ssize_t n = -1;
  do {
    n = ::pread(fd, data, n_bytes, static_cast<off_t>(at));
  } while (n < 0 && errno == EINTR);
  return n;
}

bool is_same_file(int fd, const std::filesystem::path& path) {
  struct stat open {
  }, named{};
  return ::fstat(fd, &open) == 0 && ::stat(path.c_str(), &named) == 0 && open.st_dev == named.st_dev &&
         open.st_ino == named.st_ino;
}

}  // namespace

std::optional<uint64_t> free_disk_bytes(const std::filesystem::path& folder) {
  struct statvfs info {};
  if (::statvfs(folder.c_str(), &info) != 0) return std::nullopt;
  return uint64_t{info.f_bavail} * info.f_frsize;
}

uint64_t taken_disk_bytes(const std::filesystem::path& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? static_cast<uint64_t>(info.st_blocks) * kBlockBytes : 0;
}

Error PartialFile::failed(const char* what, int error_number) const {
  const bool is_full = error_number == ENOSPC || error_number == EDQUOT || error_number == EFBIG;
  const std::string message = fmt::format("cannot {} {}: {}", what, path_.string(), std::strerror(error_number));
  if (is_full) return {ErrorCode::kResourceExhausted, message + "; received data is kept, to be resumed later", "disk"};
  return invalid_argument(message, path_.string());
}

Result<std::optional<PartialFile>> PartialFile::open(const std::filesystem::path& folder, const std::string& key,
                                                     const std::function<Status()>& on_wait,
                                                     const std::function<bool()>& is_done) {
  constexpr auto kBetweenTries = std::chrono::milliseconds(100);
  const std::filesystem::path path = folder / key;
  while (true) {
    PartialFile file(path, FileDescriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666)));
    if (file.fd_.get() < 0) return file.failed("write", errno);
    if (::flock(file.fd_.get(), LOCK_EX | LOCK_NB) == 0) {
      // Its previous holder may have renamed or removed it before the lock was taken.
      if (is_done()) {
        if (is_same_file(file.fd_.get(), path)) file.discard();
        return std::optional<PartialFile>();
      }
      if (is_same_file(file.fd_.get(), path)) return std::optional(std::move(file));
      continue;
    }
    if (errno != EWOULDBLOCK && errno != EINTR) return file.failed("lock", errno);
    RZ_CHECK_OK(on_wait());
    std::this_thread::sleep_for(kBetweenTries);
  }
}

uint64_t PartialFile::n_done() const {
  uint64_t n = 0;
  for (const auto& piece : pieces_) n += piece->n_done;
  return n;
}

Status PartialFile::begin(uint64_t n_bytes, const std::string& validator) {
  n_bytes_ = n_bytes;
  pieces_.clear();
  const uint64_t n_each = piece_bytes(n_bytes);
  for (uint64_t at = 0; at < n_bytes; at += n_each) {
    pieces_.push_back(std::make_unique<Piece>(at, std::min(n_each, n_bytes - at)));
  }
  header_ = fmt::format("realizar 1 {} {} {:.32}\n", n_bytes, n_each, sha256_text(validator));
  header_.resize(kHeaderBytes, ' ');
  journal_ = FileDescriptor(::open(journal_path().c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (journal_.get() < 0) return failed("write the journal of", errno);
  was_resumed_ = read_journal();
  if (!was_resumed_) RZ_CHECK_OK(begin_anew());
  return take_space();
}

Status PartialFile::restart() {
  RZ_CHECK_OK(begin_anew());
  was_resumed_ = false;
  return take_space();
}

Status PartialFile::begin_anew() {
  for (const auto& piece : pieces_) piece->n_done = 0;
  if (::ftruncate(fd_.get(), 0) != 0 || ::ftruncate(journal_.get(), 0) != 0) return failed("write", errno);
  return write_header();
}

Status PartialFile::write_header() {
  const std::string rows(pieces_.size() * sizeof(uint64_t), '\0');
  if (!write_all(journal_.get(), rows.data(), rows.size(), kHeaderBytes) ||
      !write_all(journal_.get(), header_.data(), header_.size(), 0)) {
    return failed("write the journal of", errno);
  }
  return {};
}

// False if there is none for this file, or an invalid one; the counts are then unchanged.
bool PartialFile::read_journal() {
  std::array<char, kHeaderBytes> header{};
  if (read_at(journal_.get(), header.data(), header.size(), 0) != static_cast<ssize_t>(kHeaderBytes)) return false;
  if (std::string_view(header.data(), header.size()) != header_) return false;
  struct stat info {};
  if (::fstat(fd_.get(), &info) != 0) return false;
  std::vector<uint64_t> rows(pieces_.size());
  const auto n_rows_bytes = static_cast<ssize_t>(rows.size() * sizeof(uint64_t));
  if (read_at(journal_.get(), rows.data(), rows.size() * sizeof(uint64_t), kHeaderBytes) != n_rows_bytes) return false;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Piece& piece = *pieces_[i];
    const bool is_there = rows[i] == 0 || piece.begin + rows[i] <= static_cast<uint64_t>(info.st_size);
    if (rows[i] > piece.n_bytes || !is_there) return false;
  }
  for (size_t i = 0; i < rows.size(); ++i) pieces_[i]->n_done = rows[i];
  return std::ranges::any_of(rows, [](uint64_t n) { return n > 0; });
}

Status PartialFile::take_space() {
  const uint64_t n_taken = taken_disk_bytes(path_);
  const auto n_free = free_disk_bytes(path_.parent_path());
  const uint64_t n_wanted = n_bytes_ > n_taken ? n_bytes_ - n_taken : 0;
  if (n_free && n_wanted > *n_free) {
    return Error{ErrorCode::kResourceExhausted,
                 fmt::format("the disk of {} is too full: {} are wanted, {} are free", path_.parent_path().string(),
                             bytes_text(n_wanted), bytes_text(*n_free)),
                 "disk"};
  }
  // Some file systems cannot reserve space; there a full disk is detected only when it happens.
  if (n_bytes_ > 0 && ::fallocate(fd_.get(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(n_bytes_)) != 0 &&
      errno != EOPNOTSUPP && errno != ENOSYS && errno != EINTR) {
    return failed("take the space of", errno);
  }
  return {};
}

Status PartialFile::write_row(size_t piece_idx) {
  const uint64_t n_done = pieces_[piece_idx]->n_done;
  const uint64_t at = kHeaderBytes + piece_idx * sizeof(uint64_t);
  if (!write_all(journal_.get(), reinterpret_cast<const char*>(&n_done), sizeof(n_done), at)) {
    return failed("write the journal of", errno);
  }
  return {};
}

Status PartialFile::write(size_t piece_idx, std::string_view bytes) {
  Piece& piece = *pieces_[piece_idx];
  const uint64_t n_before = piece.n_done;
  if (!write_all(fd_.get(), bytes.data(), bytes.size(), piece.begin + n_before)) return failed("write", errno);
  const uint64_t n_done = n_before + bytes.size();
  piece.n_done = n_done;
  const bool is_due = n_before / kRowEvery != n_done / kRowEvery || n_done == piece.n_bytes;
  return is_due ? write_row(piece_idx) : Status();
}

Status PartialFile::read(uint64_t at, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t n = read_at(fd_.get(), bytes.data(), bytes.size(), at);
    if (n < 0) return failed("read", errno);
    if (n == 0) return format_error(path_.string() + " became shorter while it was downloaded", path_.string());
    bytes = bytes.subspan(static_cast<size_t>(n));
    at += static_cast<uint64_t>(n);
  }
  return {};
}

Status PartialFile::publish(const std::filesystem::path& path) {
  constexpr mode_t kReadOnly = 0444;
  if (::ftruncate(fd_.get(), static_cast<off_t>(n_bytes_)) != 0 || ::fchmod(fd_.get(), kReadOnly) != 0 ||
      ::fsync(fd_.get()) != 0 || ::rename(path_.c_str(), path.c_str()) != 0) {
    return failed("finish", errno);
  }
  ::unlink(journal_path().c_str());
  const FileDescriptor folder(::open(path.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() >= 0) ::fsync(folder.get());
  return {};
}

void PartialFile::discard() {
  ::unlink(path_.c_str());
  ::unlink(journal_path().c_str());
}

}  // namespace realizar::hub
