// Where answers end, carried from one format to the other: a folder's list of ends as GGUF's keys, and back.
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

// A model's ends with a user's changes; what is left out of them becomes a note. Errors: InvalidArgument for a change
// that names no token.
Result<std::vector<uint32_t>> changed_ends(const text::Tokenizer& tokenizer, const EndClaims& claims,
                                           const EndSettings& changes, std::vector<std::string>& notes);

// Sets the vocabulary's ends so that its GGUF file ends at `ends`, and notes what only this program reads of that.
// Errors: those of the vocabulary.
Status put_ends(const std::vector<uint32_t>& ends, FolderVocab& vocab);

// The ids of `ids` that `others` lacks.
std::vector<uint32_t> without(const std::vector<uint32_t>& ids, const std::vector<uint32_t>& others);

// A GGUF file's ends with changes, as the two keys of our own.
struct ChangedEndKeys {
  std::vector<uint32_t> ends, no_ends;
  std::vector<std::string> notes;
};
Result<ChangedEndKeys> changed_end_keys(const ModelFile& gguf, const EndSettings& changes);

}  // namespace realizar
