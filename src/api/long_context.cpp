#include "api/long_context.h"

#include <fmt/format.h>

namespace realizar {

std::string long_context_warning(const ModelInfo& info) {
  if (info.n_ctx <= info.n_ctx_train) return "";
  return fmt::format("--ctx {}: the model was trained for {} tokens; what it writes beyond them may make no sense",
                     info.n_ctx, info.n_ctx_train);
}

}  // namespace realizar
