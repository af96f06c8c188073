#include "base/memory_reserve.h"

#include <array>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <new>

namespace realizar {
namespace {

// Each piece is a mapping of its own, so freeing it returns the addresses. A failing allocation frees pieces one by one
// and retries, so several pieces serve a large one.
constexpr size_t kPieceBytes = 8u << 20;
std::array<std::atomic<void*>, 8> pieces{};

void take_a_piece_or_throw() {
  if (std::uncaught_exceptions() > 0) {
    for (std::atomic<void*>& piece : pieces) {
      void* const taken = piece.exchange(nullptr);
      if (taken == nullptr) continue;
      std::free(taken);
      return;
    }
  }
  throw std::bad_alloc();
}

}  // namespace

void keep_memory_reserve() {
  refill_memory_reserve();
  std::set_new_handler(take_a_piece_or_throw);
}

void refill_memory_reserve() {
  for (std::atomic<void*>& piece : pieces) {
    if (piece.load() == nullptr) piece.store(std::malloc(kPieceBytes));
  }
}

}  // namespace realizar
