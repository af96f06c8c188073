// Prompts for models that fill a gap between a beginning and an end (Bavarian et al. 2022, "Efficient training of
// language models to fill in the middle"): beginning, end, then the text between them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer/tokenizer.h"

namespace realizar::server {

// A file next to the one with the gap.
struct InfillFile {
  std::string name, text;
};

// `files` come first: as files of a repository if the vocabulary has markers for that (Hui et al. 2024, "Qwen2.5-Coder
// Technical Report", section 3.2), otherwise as plain text. `begun`: the beginning of the gap's text. Nullopt if the
// vocabulary has no tokens for gaps: the model cannot infill.
std::optional<std::vector<TokenId>> infill_prompt(const text::Tokenizer& tokenizer, std::string_view before,
                                                  std::string_view after, std::span<const InfillFile> files = {},
                                                  std::string_view begun = {});

// Likewise for a gap that may have no end: without one, the beginning is continued.
inline std::optional<std::vector<TokenId>> gap_prompt(const text::Tokenizer& tokenizer, std::string_view before,
                                                      std::string_view after) {
  return after.empty() ? tokenizer.encode(before) : infill_prompt(tokenizer, before, after);
}

}  // namespace realizar::server
