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
// Removes the non-spacing marks; to take accents off, NFD or NFKD comes before.
std::unique_ptr<Normalizer> make_strip_accents();
std::unique_ptr<Normalizer> make_prepend(std::string prefix);
std::unique_ptr<Normalizer> make_replace(std::string wanted, std::string content);
std::unique_ptr<Normalizer> make_replace(Regex regex, std::string content);
// Takes white space off the ends.
std::unique_ptr<Normalizer> make_strip(bool left, bool right);
// NMT's cleaning of a text: controls away, spaces of all kinds and marks without a width become plain spaces.
std::unique_ptr<Normalizer> make_nmt();
// Writes every byte in GPT-2's alphabet.
std::unique_ptr<Normalizer> make_byte_spelling();

struct BertNormalizerOptions {
  bool clean_text = true;            // controls away, any white space to a plain space
  bool handle_chinese_chars = true;  // a space on both sides of each ideograph
  bool strip_accents = false;
  bool lowercase = true;
};
std::unique_ptr<Normalizer> make_bert_normalizer(BertNormalizerOptions options);

}  // namespace realizar::text
