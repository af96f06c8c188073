#include "text/builders.h"
namespace realizar::text {
Result<TokenizerParts> build_hf(std::string_view, std::string_view) {
  return unsupported("tokenizer.json is not built");
}
}  // namespace realizar::text
