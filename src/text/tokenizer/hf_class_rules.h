// Decides whether a text gets begin and end tokens, by transformers' rules for the tokenizer's class.
#pragma once

#include <simdjson.h>

#include "text/tokenizer/tokenizer_parts.h"

namespace realizar::text {

// Applies tokenizer_config.json's add_bos_token and add_eos_token to `parts`, whose bos and eos are set. The classes of
// Llama, Gemma, Cohere and GPT-NeoX build the post-processor from these flags; for others, and if neither is given,
// tokenizer.json's post-processor applies. Without one the flags apply for every class.
void apply_class_rules(const simdjson::dom::element& config, bool has_post_processor, TokenizerParts& parts);

}  // namespace realizar::text
