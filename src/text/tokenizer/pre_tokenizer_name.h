// The name of GGUF's that a folder's pre-tokenizer has, found by what it does: tokenizer.json has the expressions
// themselves, in many spellings.
#pragma once

#include <string>
#include <string_view>

#include "realizar/result.h"

namespace realizar::text {

// Of the names whose pre-tokenizers cut a text with what tells them apart as tokenizer.json's does: `hint`, where it is
// one of them (many are called as an architecture is), else the first. Errors: FormatError, and Unsupported where there
// is none.
Result<std::string> pre_tokenizer_name(std::string_view tokenizer_json, std::string_view hint);

}  // namespace realizar::text
