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
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "InvalidArgument";
    case ErrorCode::kNotFound:
      return "NotFound";
    case ErrorCode::kFormatError:
      return "FormatError";
    case ErrorCode::kUnsupported:
      return "Unsupported";
    case ErrorCode::kContextLengthExceeded:
      return "ContextLengthExceeded";
    case ErrorCode::kResourceExhausted:
      return "ResourceExhausted";
    case ErrorCode::kCancelled:
      return "Cancelled";
    case ErrorCode::kInternal:
      return "Internal";
  }
  return "Internal";
}

}  // namespace realizar
