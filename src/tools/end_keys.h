// Converts end tokens between the formats: a folder's list to GGUF's keys, and back.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "formats/end_claims.h"
#include "formats/model_file.h"
#include "realizar/options.h"
#include "realizar/result.h"
#include "text/tokenizer/end_tokens.h"
#include "tools/folder_vocab.h"

namespace realizar {

// A model's end tokens with a user's changes; ids that are dropped become a note. Errors: InvalidArgument for a change
// that names no token.
Result<std::vector<uint32_t>> changed_ends(const text::Tokenizer& tokenizer, const EndClaims& claims,
                                           const EndSettings& changes, std::vector<std::string>& notes);

// Sets the vocabulary's keys so that its GGUF file ends answers at `ends`, and notes the part that only this program
// reads. Errors: those of the vocabulary.
Status put_ends(const std::vector<uint32_t>& ends, FolderVocab& vocab);

// The elements of `ids` that are not in `others`.
std::vector<uint32_t> without(const std::vector<uint32_t>& ids, const std::vector<uint32_t>& others);

// A GGUF file's changed end tokens, as our own two keys.
struct ChangedEndKeys {
  std::vector<uint32_t> ends, no_ends;
  std::vector<std::string> notes;
};
Result<ChangedEndKeys> changed_end_keys(const ModelFile& gguf, const EndSettings& changes);

}  // namespace realizar
