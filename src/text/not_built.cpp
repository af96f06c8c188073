// The descriptions that have no builder yet: each refuses by name.
#include "text/builders.h"

namespace realizar::text {

Result<TokenizerParts> build_unigram_gguf(const GgufVocab&) {
  return unsupported("tokenizer model 't5' is not built");
}
Result<TokenizerParts> build_wordpiece_gguf(const GgufVocab&) {
  return unsupported("tokenizer model 'bert' is not built");
}
Result<TokenizerParts> build_spm_model(std::string_view, std::string_view) {
  return unsupported("tokenizer.model is not built");
}
Result<std::unique_ptr<MergeModel>> make_unigram_model(const Vocabulary&, UnigramOptions) {
  return unsupported("model 'Unigram' is not built");
}
Result<std::unique_ptr<Normalizer>> make_charsmap_normalizer(std::span<const uint8_t>) {
  return unsupported("normalizer 'Precompiled' is not built");
}

}  // namespace realizar::text
