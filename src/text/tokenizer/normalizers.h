// The normalizers of tokenizer.json.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "text/tokenizer/pattern.h"
#include "text/tokenizer/tokenizer_parts.h"
#include "text/unicode.h"

namespace realizar::text {

Normalizer make_sequence(std::vector<Normalizer> steps);
Normalizer make_normal_form(NormalForm form);
Normalizer make_lowercase();
// Removes the non-spacing marks; to remove accents, NFD or NFKD must come first.
Normalizer make_strip_accents();
Normalizer make_prepend(std::string prefix);
Normalizer make_replace(std::string wanted, std::string content);
Normalizer make_replace(Regex regex, std::string content);
// Removes white space from the ends.
Normalizer make_strip(bool left, bool right);
// NMT's text cleaning: removes controls, and converts all kinds of spaces and zero-width marks to plain spaces.
Normalizer make_nmt();
// Writes every byte in GPT-2's alphabet.
Normalizer make_byte_spelling();

struct BertNormalizerOptions {
  bool clean_text = true;            // removes controls, converts any white space to a plain space
  bool handle_chinese_chars = true;  // puts a space on both sides of each ideograph
  bool strip_accents = false;
  bool lowercase = true;
};
Normalizer make_bert_normalizer(BertNormalizerOptions options);

}  // namespace realizar::text
