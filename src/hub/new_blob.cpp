#include "hub/new_blob.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "base/amounts.h"
#include "base/try.h"
#include "base/unfinished.h"
#include "hub/partial_file.h"

namespace realizar::hub {
namespace {

Status check_room_for(const Store& store, uint64_t n_bytes) {
  const auto n_free = free_disk_bytes(store.partial_folder());
  if (!n_free || n_bytes <= *n_free) return {};
  return Error{
      ErrorCode::kResourceExhausted,
      fmt::format("the store's disk is too full: {} are wanted, {} are free", bytes_text(n_bytes), bytes_text(*n_free)),
      "disk"};
}

Error cannot_write(const Store& store, const char* why) {
  return invalid_argument(fmt::format("cannot write into {}: {}", store.partial_folder().string(), why), "blob");
}

}  // namespace

NewBlob::NewBlob(StoreLock lock, FileDescriptor fd, std::filesystem::path path, std::filesystem::path place,
                 std::string sha256, Hasher hasher)
    : lock_(std::move(lock)),
      fd_(std::move(fd)),
      path_(std::move(path)),
      place_(std::move(place)),
      sha256_(std::move(sha256)),
      hasher_(std::move(hasher)) {}

NewBlob::NewBlob(NewBlob&& other) noexcept
    : lock_(std::move(other.lock_)),
      fd_(std::move(other.fd_)),
      path_(std::exchange(other.path_, {})),
      place_(std::move(other.place_)),
      sha256_(std::move(other.sha256_)),
      hasher_(std::move(other.hasher_)),
      n_bytes_(other.n_bytes_) {}

NewBlob::~NewBlob() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

Result<NewBlob> NewBlob::create(const Store& store, std::string sha256, uint64_t n_bytes) {
  RZ_CHECK_OK(store.prepare());
  RZ_TRY(StoreLock lock, store.lock_shared());
  RZ_CHECK_OK(check_room_for(store, n_bytes));
  RZ_TRY(Hasher hasher, Hasher::create(Digest::Kind::kSha256, n_bytes));
  const std::filesystem::path name = store.partial_folder() / "blob";
  remove_abandoned_of(name);
  constexpr int kMaxTries = 100;  // a sweep may take the name before it is locked
  for (int n_tries = 0; n_tries < kMaxTries; ++n_tries) {
    const std::filesystem::path path = unfinished_path(name);
    FileDescriptor fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (fd.get() < 0) return cannot_write(store, std::strerror(errno));
    if (!hold_unfinished(fd)) continue;
    auto place = store.blob_path(sha256);
    return NewBlob(std::move(lock), std::move(fd), path, std::move(place), std::move(sha256), std::move(hasher));
  }
  return cannot_write(store, "another process removes what is not finished there");
}

Error NewBlob::failed(int error_number) const {
  const std::string message = fmt::format("cannot write the blob sha256:{}: {}", sha256_, std::strerror(error_number));
  const bool is_full = error_number == ENOSPC || error_number == EDQUOT || error_number == EFBIG;
  return is_full ? Error{ErrorCode::kResourceExhausted, message, "disk"} : invalid_argument(message, "blob");
}

Status NewBlob::write(std::string_view bytes) {
  hasher_.add(bytes);
  n_bytes_ += bytes.size();
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_.get(), bytes.data(), bytes.size());
    if (n < 0 && errno != EINTR) return failed(errno);
    if (n > 0) bytes.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

Status NewBlob::commit() {
  constexpr mode_t kReadOnly = 0444;
  const std::string actual = hasher_.finish();
  if (actual != sha256_) {
    return format_error(fmt::format("digest mismatch: expected sha256:{}, actual sha256:{}", sha256_, actual),
                        "digest");
  }
  if (::fchmod(fd_.get(), kReadOnly) != 0 || ::fsync(fd_.get()) != 0) return failed(errno);
  if (::rename(path_.c_str(), place_.c_str()) != 0) return failed(errno);
  path_.clear();
  const FileDescriptor folder(::open(place_.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() >= 0) ::fsync(folder.get());
  return {};
}

Result<StoredFile> add_text(const Store& store, FileRole role, std::string name, std::string_view text) {
  std::string sha256 = sha256_text(text);
  if (!store.has_blob(sha256, text.size())) {
    RZ_TRY(NewBlob blob, NewBlob::create(store, sha256, text.size()));
    RZ_CHECK_OK(blob.write(text));
    RZ_CHECK_OK(blob.commit());
  }
  return StoredFile{role, std::move(name), std::move(sha256), text.size()};
}

namespace {

// Calls `take` with each piece of the file.
Status for_each_piece(const std::filesystem::path& path, const std::function<Status(std::span<std::byte>)>& take) {
  constexpr size_t kPieceBytes = 4u << 20;
  RZ_TRY(const OpenFile file, open_regular_file(path));
  std::vector<std::byte> piece(kPieceBytes);
  for (uint64_t at = 0; at < file.n_bytes;) {
    const std::span<std::byte> next = std::span(piece).first(std::min<uint64_t>(kPieceBytes, file.n_bytes - at));
    if (!read_exactly(file.fd, next)) return format_error(path.string() + ": cannot be read", path.string());
    RZ_CHECK_OK(take(next));
    at += next.size();
  }
  return {};
}

}  // namespace

Result<std::string> add_file(const Store& store, const std::filesystem::path& path) {
  uint64_t n_bytes = 0;
  RZ_TRY(Hasher hasher, Hasher::create(Digest::Kind::kSha256, 0));
  RZ_CHECK_OK(for_each_piece(path, [&](std::span<std::byte> piece) -> Status {
    hasher.add(piece);
    n_bytes += piece.size();
    return {};
  }));
  std::string sha256 = hasher.finish();
  if (store.has_blob(sha256, n_bytes)) return sha256;
  RZ_TRY(NewBlob blob, NewBlob::create(store, sha256, n_bytes));
  RZ_CHECK_OK(for_each_piece(path, [&](std::span<std::byte> piece) {
    return blob.write({reinterpret_cast<const char*>(piece.data()), piece.size()});
  }));
  RZ_CHECK_OK(blob.commit());
  return sha256;
}

}  // namespace realizar::hub
