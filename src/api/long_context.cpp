#include "api/long_context.h"

#include <fmt/format.h>

namespace realizar {

std::string long_context_warning(const ModelInfo& info) {
  if (info.n_ctx <= info.n_ctx_longest) return "";
  const char* const made = info.n_ctx_longest == info.n_ctx_train ? "was trained" : "is scaled";
  return fmt::format("--ctx {}: the model {} for {} tokens; what it writes beyond them may make no sense", info.n_ctx,
                     made, info.n_ctx_longest);
}

}  // namespace realizar
