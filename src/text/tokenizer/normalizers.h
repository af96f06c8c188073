// The normalizers of tokenizer.json.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "text/tokenizer/pattern.h"
#include "text/tokenizer/tokenizer_parts.h"
#include "text/unicode.h"

namespace realizar::text {

std::unique_ptr<Normalizer> make_sequence(std::vector<std::unique_ptr<Normalizer>> steps);
std::unique_ptr<Normalizer> make_normal_form(NormalForm form);
std::unique_ptr<Normalizer> make_lowercase();
// Removes the non-spacing marks; to remove accents, NFD or NFKD must come first.
std::unique_ptr<Normalizer> make_strip_accents();
std::unique_ptr<Normalizer> make_prepend(std::string prefix);
std::unique_ptr<Normalizer> make_replace(std::string wanted, std::string content);
std::unique_ptr<Normalizer> make_replace(Regex regex, std::string content);
// Removes white space from the ends.
std::unique_ptr<Normalizer> make_strip(bool left, bool right);
// NMT's text cleaning: removes controls, and converts all kinds of spaces and zero-width marks to plain spaces.
std::unique_ptr<Normalizer> make_nmt();
// Writes every byte in GPT-2's alphabet.
std::unique_ptr<Normalizer> make_byte_spelling();

struct BertNormalizerOptions {
  bool clean_text = true;            // removes controls, converts any white space to a plain space
  bool handle_chinese_chars = true;  // puts a space on both sides of each ideograph
  bool strip_accents = false;
  bool lowercase = true;
};
std::unique_ptr<Normalizer> make_bert_normalizer(BertNormalizerOptions options);

}  // namespace realizar::text
