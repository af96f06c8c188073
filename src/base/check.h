// REQUIRE: the programmer's errors at the door of a room, always on. DCHECK: inside loops, debug builds only.
// Neither is for what comes from outside; that is a Result.
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
