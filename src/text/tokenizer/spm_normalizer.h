// SentencePiece's normalizer: its character map, then its white space: spaces become U+2581, another one is put before
// the text, and (optionally) spaces at the ends and repeated ones are dropped.
#pragma once

#include <memory>

#include "text/tokenizer/tokenizer_parts.h"

namespace realizar::text {

struct SpmWhitespace {
  bool add_prefix = true;            // U+2581 before a segment ...
  bool prefix_every_segment = true;  // ... also after an added token, not only at the text's start
  bool remove_extra = false;
  bool escape = true;  // spaces become U+2581
};
// `charsmap` may be null.
std::unique_ptr<Normalizer> make_spm_normalizer(std::unique_ptr<Normalizer> charsmap, SpmWhitespace options);

}  // namespace realizar::text
