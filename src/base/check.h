// REQUIRE checks for programming errors at the door of a room and is always on. DCHECK is for inner loops, in debug
// builds only. Neither is for input from outside, which gets a Result.
#pragma once

namespace realizar {
[[noreturn]] void check_failed(const char* condition, const char* file, int line);
}

#define REQUIRE(condition) \
  (static_cast<bool>(condition) ? void(0) : ::realizar::check_failed(#condition, __FILE__, __LINE__))

#ifdef NDEBUG
#define DCHECK(condition) void(0)
#else
#define DCHECK(condition) REQUIRE(condition)
#endif
