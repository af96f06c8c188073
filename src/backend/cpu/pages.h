// Zeroed memory straight from the system, touched lazily, on huge pages where the system gives them. Owns its map.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <utility>

#include "realizar/result.h"

namespace realizar {

class Pages {
 public:
  static Result<Pages> allocate(size_t n_bytes) {
    Pages pages;
    if (n_bytes == 0) return pages;
    void* data = mmap(nullptr, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED) {
      return Error{ErrorCode::kResourceExhausted, "no memory for " + std::to_string(n_bytes) + " bytes", "memory"};
    }
    madvise(data, n_bytes, MADV_HUGEPAGE);
    pages.data_ = static_cast<std::byte*>(data);
    pages.size_ = n_bytes;
    return pages;
  }

  Pages() = default;
  Pages(Pages&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Pages& operator=(Pages&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Pages() {
    if (data_ != nullptr) munmap(data_, size_);
  }

  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data_);
  }
  size_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace realizar
