// Any bytes as tekken.json: an error or a tokenizer that encodes and decodes.
#include <cstdint>
#include <string>
#include <string_view>

#include "text/tokenizer/json_forms.h"
#include "text/tokenizer/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace realizar::text;
  const std::string_view file(reinterpret_cast<const char*>(data), size);
  const auto form = json_of_tekken(file, "");
  if (!form.ok()) return 0;
  const auto tokenizer = Tokenizer::from_hf(form->tokenizer, form->config);
  if (!tokenizer.ok()) return 0;
  const auto ids = tokenizer->encode("Hello <s> [INST]w\xF6rld\u00E9  12345 \n\t don't \u4E2D\U0001F600 ");
  (void)tokenizer->decode(ids, {.skip_special = false});
  return 0;
}
