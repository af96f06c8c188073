#include "text/builders.h"
namespace realizar::text {
Result<TokenizerParts> build_bpe_gguf(const GgufVocab&) {
  return unsupported("tokenizer model 'gpt2' is not built");
}
}  // namespace realizar::text
