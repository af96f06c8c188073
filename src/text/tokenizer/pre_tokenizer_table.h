// The pre-tokenizers named by tokenizer.ggml.pre: data only.
#pragma once

#include <span>
#include <string_view>

namespace realizar::text {

struct NamedPreTokenizer {
  std::string_view name;
  // Applied in order, each to the pieces of the previous one; matches and gaps both become pieces.
  std::span<const std::string_view> regexes;
  bool ignore_merges = false;
  bool add_bos = false;    // if the file does not say
  bool byte_level = true;  // false: spaces are written as U+2581 and unknown characters as byte tokens
};

std::span<const NamedPreTokenizer> named_pre_tokenizers();
// nullptr for an unknown name.
const NamedPreTokenizer* find_pre_tokenizer(std::string_view name);

}  // namespace realizar::text
