// Any bytes as tokenizer.model: an error or a tokenizer that encodes and decodes without a finding.
#include <cstdint>
#include <string_view>

#include "text/tokenizer/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace realizar::text;
  const auto tokenizer = Tokenizer::from_sentencepiece({reinterpret_cast<const char*>(data), size}, "");
  if (!tokenizer.ok()) return 0;
  const auto ids = tokenizer->encode("Hello <s> w\xF6rld\u00E9  12345 \n\t don't \u4E2D\U0001F600e\u0301\uFF21 ");
  (void)tokenizer->decode(ids, {.skip_special = false});
  return 0;
}
