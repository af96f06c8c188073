// Any bytes as a prompt, through vocabularies of both kinds. The first byte selects vocabulary and options; byte 0x1D
// divides the rest into pieces that are in turn template and input. Byte-level decoding must give the original text.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer/tokenizer.h"

using namespace realizar::text;

namespace {

constexpr std::string_view kAdded =
    R"("added_tokens":[{"id":300,"content":"<s>","special":true},{"id":301,"content":"<sp>","special":true,
    "lstrip":true,"rstrip":true},{"id":302,"content":"word","special":false,"single_word":true},
    {"id":303,"content":"<n>","special":true,"normalized":true}],)";

// A vocabulary of single bytes or characters with some merges.
std::string make_json(bool byte_level) {
  std::string vocab;
  for (int i = 0; i < 256; ++i) {
    std::string piece;
    constexpr char kHex[] = "0123456789ABCDEF";
    if (!byte_level) {
      piece = std::string("<0x") + kHex[i / 16] + kHex[i % 16] + ">";
    } else {
      // GPT-2's alphabet as JSON escapes: printable Latin-1 is unchanged, the rest follows from U+0100.
      static int next = 0x100;
      const bool printable = (i >= 0x21 && i <= 0x7E) || (i >= 0xA1 && i <= 0xAC) || i >= 0xAE;
      const int code = printable ? i : next++;
      piece = std::string("\\u0") + kHex[code >> 8] + kHex[(code >> 4) & 15] + kHex[code & 15];
    }
    vocab += "\"" + piece + "\":" + std::to_string(i) + ",";
  }
  const std::string space = byte_level ? "\\u0120" : "\\u2581";
  vocab += "\"ab\":256,\"aa\":257,\"aaaa\":258,\"" + space + "a\":259,\"" + space + space + "\":260";
  if (!byte_level) vocab += ",\"a\":261,\"b\":262,\"" + space + "\":263";
  const std::string head =
      byte_level
          ? R"("pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false},"decoder":{"type":"ByteLevel"},)"
          : R"("normalizer":{"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Prepend","prepend":"\u2581"},
      {"type":"Replace","pattern":{"String":" "},"content":"\u2581"}]},"decoder":{"type":"Sequence","decoders":[
      {"type":"Replace","pattern":{"String":"\u2581"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"}]},)";
  return "{" + std::string(kAdded) + head + R"("model":{"type":"BPE","byte_fallback":)" +
         (byte_level ? "false" : "true") + R"(,"vocab":{)" + vocab + R"(},"merges":["a b","a a","aa aa",")" + space +
         " a\",\"" + space + " " + space + "\"]}}";
}

Tokenizer make(bool byte_level) {
  auto tokenizer = Tokenizer::from_hf(make_json(byte_level), "");
  if (!tokenizer.ok()) std::abort();
  return std::move(*tokenizer);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Tokenizer bytes = make(true);
  static const Tokenizer chars = make(false);
  if (size == 0) return 0;
  const bool byte_level = (data[0] & 1) != 0;
  const Tokenizer& tokenizer = byte_level ? bytes : chars;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::vector<PromptPiece> pieces;
  std::string joined;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('\x1D', begin), text.size());
    pieces.push_back({std::string(text.substr(begin, end - begin)), pieces.size() % 2 == 1});
    joined += pieces.back().text;
    begin = end + 1;
  }
  const auto ids = tokenizer.encode(pieces, {.add_special = false, .parse_special = (data[0] & 2) != 0});
  const std::string back = tokenizer.decode(ids, {.skip_special = false});
  // A token with lstrip or rstrip swallows white space, so then only the length is bounded.
  if (byte_level && joined.find("<sp>") == std::string::npos && back != joined) std::abort();
  return 0;
}
