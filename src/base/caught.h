// Where exceptions end: at the doors of rooms, and on every thread before they would leave it. What was thrown becomes
// an Error.
#pragma once

#include <type_traits>
#include <utility>

#include "realizar/result.h"

namespace realizar {

// The subject of errors that say that memory or threads ran out: the same may go well a little later.
inline constexpr const char* kOutOfResources = "resources";

// Inside a catch block: what was thrown. ResourceExhausted (subject kOutOfResources) for want of memory or threads,
// else Internal.
Error error_in_flight() noexcept;

// Calls `f`, which gives nothing, a Status or a Result; gives the same, or what `f` threw.
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

}  // namespace realizar
