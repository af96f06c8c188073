#include "base/check.h"

#include <cstdio>
#include <cstdlib>

#include "realizar/result.h"

namespace realizar {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: requirement failed: %s\n", file, line, condition);
  std::abort();
}

const char* to_string(ErrorCode code) {
  constexpr const char* kNames[] = {"InvalidArgument",       "NotFound",          "FormatError", "Unsupported",
                                    "ContextLengthExceeded", "ResourceExhausted", "Cancelled",   "Internal"};
  return kNames[static_cast<size_t>(code)];
}

}  // namespace realizar
