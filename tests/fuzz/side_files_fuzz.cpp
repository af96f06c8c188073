// Any bytes as a side file of a tokenizer, in plain JSON and as vocab.json, merges.txt or tokenizer_config.json: an
// error or a tokenizer.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/plain_json.h"
#include "text/tokenizer/json_forms.h"
#include "text/tokenizer/tokenizer.h"

namespace {

void encode_with(const realizar::Result<realizar::text::TokenizerJson>& form) {
  if (!form.ok()) return;
  const auto tokenizer = realizar::text::Tokenizer::from_hf(form->tokenizer, form->config);
  if (tokenizer.ok()) (void)tokenizer->decode(tokenizer->encode("Hello <s> w\u00E9rld 12 \n"));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace realizar::text;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)realizar::plain_json(text);
  constexpr std::string_view kVocab = R"({"a":0,"b":1,"ab":2,"<s>":3})",
                             kGpt2 = R"({"tokenizer_class":"GPT2Tokenizer"})";
  encode_with(json_of_merges(text, "a b\n", kGpt2, ""));
  encode_with(json_of_merges(kVocab, text, kGpt2, ""));
  encode_with(json_of_merges(kVocab, "a b\n", text, "gpt2"));
  return 0;
}
