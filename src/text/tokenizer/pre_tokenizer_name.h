// Finds GGUF's name of a folder's pre-tokenizer by its behaviour: tokenizer.json has the expressions themselves, in
// many spellings.
#pragma once

#include <string>
#include <string_view>

#include "realizar/result.h"

namespace realizar::text {

// Among the names whose pre-tokenizers split a distinguishing text like tokenizer.json's: `hint`, if it is one of them
// (many are named after an architecture), else the first. Errors: FormatError, and Unsupported if there is none.
Result<std::string> pre_tokenizer_name(std::string_view tokenizer_json, std::string_view hint);

}  // namespace realizar::text
