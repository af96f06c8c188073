#include "support/counted_new.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<long> n_counted{0};

void* counted(std::size_t bytes) {
  if (!realizar::test::DeviceWork::is_under_way()) n_counted.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(bytes);
}

void* counted_or_throw(std::size_t bytes) {
  if (void* memory = counted(bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t bytes) {
  return counted_or_throw(bytes);
}
void* operator new[](std::size_t bytes) {
  return counted_or_throw(bytes);
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return counted(bytes);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return counted(bytes);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace realizar::test {

long n_allocations() {
  return n_counted;
}

}  // namespace realizar::test
