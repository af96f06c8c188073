// Reads the tokenizer files of a Hugging Face folder, and merges the tokens that they define.
#pragma once

#include <filesystem>

#include "formats/model_file.h"
#include "realizar/result.h"

namespace realizar {

// Reads a tokenizer's files: its vocabulary, and in tokenizer_config_json the combined content of that file,
// added_tokens.json and special_tokens_map.json. The latter two apply only if tokenizer_config.json itself lists no
// added tokens, and added_tokens.json only if there is no tokenizer.json, as in transformers. Errors: FormatError.
Status read_tokenizer_files(const std::filesystem::path& folder, SideFiles& files);

// Whether a file of this name contains a vocabulary.
bool is_vocabulary_file(const std::filesystem::path& name);
// Whether the folder has a vocabulary in any form.
bool has_vocabulary(const std::filesystem::path& folder);
bool has_vocabulary(const SideFiles& files);

}  // namespace realizar
