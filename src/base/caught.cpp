#include "base/caught.h"

#include <array>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <new>
#include <system_error>

namespace realizar {
namespace {

// The text is short enough to need no heap memory.
Error out_of_memory() {
  return {ErrorCode::kResourceExhausted, "out of memory", kOutOfResources};
}

Error translated() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::system_error& error) {
    const bool is_passing = error.code() == std::errc::resource_unavailable_try_again;
    if (is_passing) return {ErrorCode::kResourceExhausted, "no thread can be started", kOutOfResources};
    return {ErrorCode::kInternal, error.what(), ""};
  } catch (const std::exception& error) {
    return {ErrorCode::kInternal, error.what(), ""};
  } catch (...) {
    return {ErrorCode::kInternal, "something other than a std::exception was thrown", ""};
  }
}

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

Error error_in_flight() noexcept {
  try {
    return translated();
  } catch (...) {  // not even enough memory for the message
    return out_of_memory();
  }
}

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
