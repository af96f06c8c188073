// Prompts for models that fill a gap between a beginning and an end (Bavarian et al. 2022, "Efficient training of
// language models to fill in the middle"): beginning, end, then what belongs between.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "text/tokenizer/tokenizer.h"

namespace realizar::server {

// Nullopt where the vocabulary has no tokens for it: the model cannot infill.
std::optional<std::vector<TokenId>> infill_prompt(const text::Tokenizer& tokenizer, std::string_view before,
                                                  std::string_view after);

}  // namespace realizar::server
