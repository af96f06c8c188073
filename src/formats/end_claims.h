// Where a model's files say that an answer ends: GGUF's keys, or the JSON files of a folder. Every file says a part of
// it, and each claim keeps the key that it came from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "formats/metadata.h"
#include "formats/model_file.h"

namespace realizar {

// Keys of our own, which other programs skip: all ends of a model with more than GGUF has keys for, and tokens that end
// no answer though their names say so. generation_config.json has the second list without the prefix.
inline constexpr const char* kEndIdsKey = "tokenizer.ggml.eos_token_ids";
inline constexpr const char* kNoEndIdsKey = "tokenizer.ggml.no_end_token_ids";
inline constexpr const char* kFolderNoEndIdsKey = "no_end_token_ids";

struct EndClaim {
  std::variant<int64_t, std::string> token;  // its id, or its piece
  std::string source;                        // "tokenizer.ggml.eos_token_id", "generation_config.json: eos_token_id"
  bool is_denial = false;                    // the token is said to end no answer
};

struct EndClaims {
  std::vector<EndClaim> claims;
  std::vector<std::string> notes;  // values that are no token
};

EndClaims gguf_end_claims(const Metadata& metadata);
EndClaims folder_end_claims(const SideFiles& files);
// For either format. Errors: those of the side files.
Result<EndClaims> read_end_claims(const ModelFile& file);

// The ids that a key has: one number, or a list of them. Nothing where it has anything else.
std::vector<int64_t> ids_of_key(const Metadata& metadata, std::string_view key);

}  // namespace realizar
