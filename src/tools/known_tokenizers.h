// Tokenizers that llama.cpp's converter knows by the ids that they give a text.
#pragma once

#include <string_view>

#include "text/tokenizer/tokenizer.h"

namespace realizar {

// The name that the converter writes as tokenizer.ggml.pre for this tokenizer; "" for one that it does not know.
std::string_view known_pre_tokenizer(const text::Tokenizer& tokenizer);

}  // namespace realizar
