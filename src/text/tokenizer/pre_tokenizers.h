// The pre-tokenizers of tokenizer.json; GGUF's named ones are sequences of these (pre_tokenizer_table.h).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer/pattern.h"
#include "text/tokenizer/tokenizer_parts.h"

namespace realizar::text {

enum class PrependScheme { kAlways, kFirst, kNever };

PreTokenizer make_sequence(std::vector<PreTokenizer> steps);
PreTokenizer make_split(std::unique_ptr<Pattern> pattern, SplitBehavior behavior, bool invert);
// Splits by a regular expression. The two expressions with which published tokenizers group digits by threes from the
// right look ahead to the end of the number at each of its digits; they are recognized and handled in one pass.
Result<PreTokenizer> make_regex_split(std::string_view pattern, SplitBehavior behavior, bool invert);
// Writes a space before every piece that does not begin with one.
PreTokenizer make_prefix_space();
// Writes every byte in GPT-2's alphabet (for models that do not take raw bytes).
PreTokenizer make_byte_speller();
PreTokenizer make_char_split(CharPredicate predicate, SplitBehavior behavior);
// Splits at Unicode's punctuation and ASCII's symbols.
PreTokenizer make_punctuation_split(SplitBehavior behavior);
// Words between white space, with each punctuation mark separate (Hugging Face's BertPreTokenizer).
PreTokenizer make_bert_split();
// Replaces spaces by `replacement`, puts one before each piece as the scheme says, and begins a new piece at each.
PreTokenizer make_metaspace(std::string replacement, PrependScheme scheme, bool split);

}  // namespace realizar::text
