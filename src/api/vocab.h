// The vocabulary that GGUF metadata holds (keys tokenizer.ggml.*), as the text room wants it.
#pragma once

#include <string>
#include <vector>

#include "formats/metadata.h"
#include "realizar/result.h"
#include "text/tokenizer/tokenizer.h"

namespace realizar {

// The result's views live as long as the file that `metadata` comes from.
// Ids of special tokens that are not in the vocabulary are left out. Errors: NotFound without tokenizer.ggml.model or
// .tokens; FormatError for a key of the wrong type.
Result<text::GgufVocab> read_gguf_vocab(const Metadata& metadata);

// A sentence for each key of a special token that is left out so, but for those of end tokens (formats/end_claims.h).
std::vector<std::string> notes_of_special_ids(const Metadata& metadata, size_t n_tokens);

}  // namespace realizar
