// Any bytes as GLM-4's tokenizer.model, after ranks of all bytes: an error or a tokenizer that encodes and decodes.
#include <cstdint>
#include <string>
#include <string_view>

#include "text/tokenizer/tokenizer.h"

namespace {

std::string ranks_of_bytes() {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string file;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    file += {kDigits[byte >> 2], kDigits[(byte & 3) << 4], '=', '='};
    file += ' ' + std::to_string(byte) + '\n';
  }
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace realizar::text;
  static const std::string bytes = ranks_of_bytes();
  const auto tokenizer = Tokenizer::from_sentencepiece(bytes + std::string(reinterpret_cast<const char*>(data), size),
                                                       R"({"tokenizer_class": "ChatGLM4Tokenizer"})");
  if (!tokenizer.ok()) return 0;
  const auto ids = tokenizer->encode("Hello <|user|> w\xF6rld\u00E9  12345 \n\t don't \u4E2D\U0001F600e\u0301 abab");
  (void)tokenizer->decode(ids, {.skip_special = false});
  return 0;
}
