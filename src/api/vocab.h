// Reads the vocabulary in GGUF metadata (keys tokenizer.ggml.*) for the text room.
#pragma once

#include <string>
#include <vector>

#include "formats/metadata.h"
#include "realizar/result.h"
#include "text/tokenizer/tokenizer.h"

namespace realizar {

// The result's views are valid as long as the file that `metadata` belongs to.
// Ids of special tokens outside the vocabulary are left out. Errors: NotFound without tokenizer.ggml.model or .tokens;
// FormatError for a key of the wrong type.
Result<text::GgufVocab> read_gguf_vocab(const Metadata& metadata);

// A sentence for each key of a special token that is left out for that reason, except end tokens
// (formats/end_claims.h).
std::vector<std::string> notes_of_special_ids(const Metadata& metadata, size_t n_tokens);

}  // namespace realizar
