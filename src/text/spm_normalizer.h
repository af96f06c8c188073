// SentencePiece's white space: spaces become U+2581, and one more is put before the text.
#pragma once

#include <memory>

#include "text/tokenizer_parts.h"

namespace realizar::text {

struct SpmWhitespace {
  bool add_prefix = true;            // U+2581 before a segment ...
  bool prefix_every_segment = true;  // ... also after an added token, not only at the text's start
};
std::unique_ptr<Normalizer> make_spm_whitespace(SpmWhitespace options);

}  // namespace realizar::text
