// Which files of a Hugging Face folder have its tokenizer. Tokens stand in several of them; here they come together.
#pragma once

#include <filesystem>

#include "formats/model_file.h"
#include "realizar/result.h"

namespace realizar {

// Reads what `files` has of a tokenizer: its vocabulary, and as tokenizer_config_json what that file, added_tokens.json
// and special_tokens_map.json say together. As in transformers the latter two count where tokenizer_config.json lists
// no added tokens itself, and added_tokens.json where there is no tokenizer.json. Errors: FormatError.
Status read_tokenizer_files(const std::filesystem::path& folder, SideFiles& files);

// Whether a file of this name has a vocabulary.
bool is_vocabulary_file(const std::filesystem::path& name);
// Whether the folder has a vocabulary in any form.
bool has_vocabulary(const std::filesystem::path& folder);
bool has_vocabulary(const SideFiles& files);

}  // namespace realizar
