// Any bytes as rwkv_vocab_v20230424.txt: an error or a tokenizer that gives any text back.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "text/tokenizer/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace realizar::text;
  const std::string_view file(reinterpret_cast<const char*>(data), size);
  const auto tokenizer = Tokenizer::from_rwkv(file, "");
  if (!tokenizer.ok()) return 0;
  const std::string text = "Hello <s> w\xF6rld\u00E9  12345 \n\t don't \u4E2D\U0001F600 ";
  if (tokenizer->decode(tokenizer->encode(text, {.parse_special = false})) != text) std::abort();
  return 0;
}
