// The vocabulary that GGUF metadata holds (keys tokenizer.ggml.*), as the text room wants it.
#pragma once

#include "formats/metadata.h"
#include "realizar/result.h"
#include "text/tokenizer/tokenizer.h"

namespace realizar {

// The result's views live as long as the file that `metadata` comes from.
// Errors: NotFound without tokenizer.ggml.model or .tokens; FormatError for a key of the wrong type.
Result<text::GgufVocab> read_gguf_vocab(const Metadata& metadata);

}  // namespace realizar
