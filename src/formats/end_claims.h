// End tokens according to a model's files: GGUF's keys, or the JSON files of a folder. Each file names some of them,
// and each claim records the key that it came from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "formats/metadata.h"
#include "formats/model_file.h"

namespace realizar {

// Our own keys, which other programs skip: all end tokens of a model with more than GGUF has keys for, and tokens that
// do not end an answer although their names suggest it. generation_config.json has the second list without the prefix.
inline constexpr const char* kEndIdsKey = "tokenizer.ggml.eos_token_ids";
inline constexpr const char* kNoEndIdsKey = "tokenizer.ggml.no_end_token_ids";
inline constexpr const char* kFolderNoEndIdsKey = "no_end_token_ids";

struct EndClaim {
  std::variant<int64_t, std::string> token;  // its id, or its piece
  std::string source;                        // "tokenizer.ggml.eos_token_id", "generation_config.json: eos_token_id"
  bool is_denial = false;                    // the token is declared not to end an answer
};

struct EndClaims {
  std::vector<EndClaim> claims;
  std::vector<std::string> notes;  // values that are not tokens
};

EndClaims gguf_end_claims(const Metadata& metadata);
EndClaims folder_end_claims(const SideFiles& files);
// Works for either format. Errors: those of the side files.
Result<EndClaims> read_end_claims(const ModelFile& file);

// The ids in a key: one number, or a list of them. Empty for any other value.
std::vector<int64_t> ids_of_key(const Metadata& metadata, std::string_view key);

}  // namespace realizar
