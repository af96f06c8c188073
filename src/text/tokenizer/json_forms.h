// Converts vocabularies in other files to the format of tokenizer.json.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "realizar/result.h"

namespace realizar::text {

struct TokenizerJson {
  std::string tokenizer;  // tokenizer.json
  std::string config;     // tokenizer_config.json
};

// Mistral's tekken.json: byte strings by rank, after the special tokens. `config_json`: tokenizer_config.json, or
// empty. Errors: FormatError, naming its fields.
Result<TokenizerJson> json_of_tekken(std::string_view tekken, std::string_view config_json);

// GPT-2's vocab.json and merges.txt, with the pre-tokenizer of the class that tokenizer_config.json names; without one,
// of the model's type in config.json. Errors: FormatError; Unsupported for another class.
Result<TokenizerJson> json_of_merges(std::string_view vocab, std::string_view merges, std::string_view config_json,
                                     std::string_view model_type);

// The files of a folder that replace tokenizer.json.
struct OtherForms {
  const std::optional<std::string>&tekken, &vocab, &merges;
  std::string_view config_json, model_type;  // as above
};
// Nullopt if the folder has no vocabulary in these forms.
Result<std::optional<TokenizerJson>> json_form_of(const OtherForms& forms);

}  // namespace realizar::text
