// Zeroed memory from the system, touched lazily, on huge pages if available. Owns its mapping.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/try.h"
#include "realizar/result.h"

namespace realizar::cpu {

inline constexpr size_t kHugePageBytes = size_t{2} << 20;

class Pages {
 public:
  // Aligned to a huge page if large enough.
  static Result<Pages> allocate(size_t n_bytes) {
    Pages pages;
    if (n_bytes == 0) return pages;
    const size_t slack = n_bytes < kHugePageBytes ? 0 : kHugePageBytes;
    void* data = n_bytes + slack < n_bytes ? MAP_FAILED : map(n_bytes + slack);
    if (data == MAP_FAILED) {
      return Error{ErrorCode::kResourceExhausted, "no memory for " + std::to_string(n_bytes) + " bytes", "memory"};
    }
    pages.map_ = static_cast<std::byte*>(data);
    pages.map_bytes_ = n_bytes + slack;
    pages.data_ = pages.map_ + (slack == 0 ? 0 : -reinterpret_cast<uintptr_t>(data) % kHugePageBytes);
    pages.size_ = n_bytes;
    madvise(pages.map_, pages.map_bytes_, MADV_HUGEPAGE);
    return pages;
  }

  Pages() = default;
  Pages(Pages&& other) noexcept { *this = std::move(other); }
  Pages& operator=(Pages&& other) noexcept {
    std::swap(map_, other.map_);
    std::swap(map_bytes_, other.map_bytes_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Pages() {
    if (map_ != nullptr) munmap(map_, map_bytes_);
  }

  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data_);
  }
  size_t size() const { return size_; }

 private:
  static void* map(size_t n_bytes) {
    return mmap(nullptr, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }

  std::byte* map_ = nullptr;
  size_t map_bytes_ = 0;
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// Allocates zeroed memory that lives as long as the arena; small matrices share huge pages.
class Arena {
 public:
  // 64-byte aligned.
  Result<uint8_t*> allocate(size_t n_bytes) {
    constexpr size_t kChunkBytes = size_t{256} << 20;
    constexpr size_t kAlignment = 64;
    used_ = (used_ + kAlignment - 1) / kAlignment * kAlignment;
    if (chunks_.empty() || used_ > chunks_.back().size() || n_bytes > chunks_.back().size() - used_) {
      RZ_TRY(Pages chunk, Pages::allocate(n_bytes < kChunkBytes ? kChunkBytes : n_bytes));
      chunks_.push_back(std::move(chunk));
      used_ = 0;
    }
    uint8_t* data = chunks_.back().as<uint8_t>() + used_;
    used_ += n_bytes;
    return data;
  }

 private:
  std::vector<Pages> chunks_;
  size_t used_ = 0;  // in the last chunk
};

}  // namespace realizar::cpu
