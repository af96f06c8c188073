// Exceptions end at the door of a room and at the end of every thread, where they become an Error.
#pragma once

#include <type_traits>
#include <utility>

#include "realizar/result.h"

namespace realizar {

// Subject of errors for exhausted memory or threads: a retry a little later may succeed.
inline constexpr const char* kOutOfResources = "resources";

// The exception in flight, inside a catch block. ResourceExhausted (subject kOutOfResources) if memory or threads ran
// out, else Internal.
Error error_in_flight() noexcept;

// Calls `f`, which returns void, a Status or a Result. Returns its result, or the exception that it threw as an Error.
template <class F>
auto caught(F&& f) noexcept {
  using Returned = std::invoke_result_t<F>;
  using Caught = std::conditional_t<std::is_void_v<Returned>, Status, Returned>;
  try {
    if constexpr (std::is_void_v<Returned>) {
      std::forward<F>(f)();
      return Caught();
    } else {
      return Caught(std::forward<F>(f)());
    }
  } catch (...) {
    return Caught(error_in_flight());
  }
}

// A memory reserve for destructors that run because memory ran out. Some need a little memory themselves (those of
// nlohmann's arrays do), and a destructor that fails ends the process.

// Keeps a reserve for the whole process. When memory runs out, std::bad_alloc is still thrown, but allocations made
// while an exception is in flight draw on the reserve. It holds only addresses, no pages, until then.
void keep_memory_reserve();

// Refills the used part of the reserve, as far as there is memory.
void refill_memory_reserve();

}  // namespace realizar
