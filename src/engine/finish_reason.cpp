#include "realizar/generation.h"

namespace realizar {

const char* to_string(FinishReason reason) {
  constexpr const char* kNames[] = {"stop", "length", "context", "cancelled", "deadline", "error"};
  return kNames[static_cast<size_t>(reason)];
}

}  // namespace realizar
