#include "base/mapped_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/files.h"
#include "base/map_faults.h"
#include "base/try.h"

namespace realizar {

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  RZ_TRY(const OpenFile opened, open_regular_file(path));
  MappedFile file;
  file.path_ = path.string();
  if (opened.n_bytes == 0) return file;
  void* map = ::mmap(nullptr, opened.n_bytes, PROT_READ, MAP_PRIVATE, opened.fd.get(), 0);
  if (map == MAP_FAILED) {
    return invalid_argument("cannot map " + file.path_ + ": " + std::strerror(errno), file.path_);
  }
  file.data_ = static_cast<const std::byte*>(map);
  file.size_ = opened.n_bytes;
  file.version_ = opened.version;
  file.guard_ = guard_map(file.data_, file.size_);
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      path_(std::move(other.path_)),
      version_(other.version_),
      guard_(std::exchange(other.guard_, nullptr)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(path_, other.path_);
  std::swap(version_, other.version_);
  std::swap(guard_, other.guard_);
  return *this;
}

MappedFile::~MappedFile() {
  if (guard_ != nullptr) release_guard(guard_);
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

// A file may shrink after its bytes were read: then no read has faulted.
Status MappedFile::check() const {
  if (guard_ == nullptr) return {};
  const auto version = version_at(path_);
  const bool is_known = version && version->is_same_file(version_);
  const bool is_shorter = is_known && version->n_bytes < version_.n_bytes;
  if (is_shorter || guard_->faulted.load(std::memory_order_acquire)) {
    return format_error(path_ + ": the file became shorter while it was read, or its disk failed", path_);
  }
  if (!is_known || *version == version_) return {};
  return format_error(path_ + ": the file was written to while it was read", path_);
}

void MappedFile::release(std::span<const std::byte> range) const {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(range.data()) + page - 1) / page * page;
  const uintptr_t end = reinterpret_cast<uintptr_t>(range.data() + range.size()) / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace realizar
