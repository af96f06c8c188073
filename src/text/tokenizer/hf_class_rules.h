// Whether a text gets the tokens that begin and end it, as transformers decides it by the tokenizer's class.
#pragma once

#include <simdjson.h>

#include "text/tokenizer/tokenizer_parts.h"

namespace realizar::text {

// Applies tokenizer_config.json's add_bos_token and add_eos_token to `parts`, whose bos and eos are set. Llama's,
// Gemma's, Cohere's and GPT-NeoX's classes build the post-processor from these flags; with others, and where neither is
// given, the one that tokenizer.json has counts. Without one the flags count for every class.
void apply_class_rules(const simdjson::dom::element& config, bool has_post_processor, TokenizerParts& parts);

}  // namespace realizar::text
