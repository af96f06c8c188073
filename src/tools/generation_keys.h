// Converts end tokens and recommended sampling parameters between the formats: a folder's files to GGUF's keys, and
// back.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "formats/end_claims.h"
#include "formats/metadata.h"
#include "formats/model_file.h"
#include "realizar/options.h"
#include "realizar/result.h"
#include "text/tokenizer/end_tokens.h"
#include "tools/folder_vocab.h"
#include "tools/gguf_keys.h"

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

// The recommended sampling parameters: generation_config.json in a folder, general.sampling.* in a GGUF file.
// `generation_config`: the file's text. Errors: FormatError.
Status add_sampling_keys(const std::string& generation_config, GgufKeys& keys);

// Adds a GGUF file's recommendations to a folder's generation_config.json.
void add_recommended_sampling(const Metadata& gguf, nlohmann::ordered_json& generation_config);

bool is_sampling_key(std::string_view key);

}  // namespace realizar
