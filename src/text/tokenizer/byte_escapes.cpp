#include "text/tokenizer/byte_escapes.h"

#include <charconv>

#include "base/printable.h"
#include "base/try.h"
#include "text/utf8.h"

namespace realizar::text {
namespace {

// Digits of the number after \x, \u or \U; 0 for other letters.
size_t n_digits(char letter, Escapes escapes) {
  if (letter == 'x') return 2;
  if (escapes == Escapes::kBytes) return 0;
  return letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
}

char plain_escape(char letter) {
  switch (letter) {
    case 't':
      return '\t';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    default:
      return letter;
  }
}

Error bad_escape(std::string_view spelled) {
  return format_error("'" + shown(spelled) + "': expected escapes like \\n and \\x1f", "tokens");
}

}  // namespace

Result<std::string> unescape(std::string_view spelled, Escapes escapes) {
  std::string bytes;
  for (size_t at = 0; at < spelled.size();) {
    const char c = spelled[at++];
    if (c != '\\') {
      bytes += c;
      continue;
    }
    if (at == spelled.size()) return bad_escape(spelled);
    const char letter = spelled[at++];
    const size_t n = n_digits(letter, escapes);
    if (n == 0) {
      bytes += plain_escape(letter);
      continue;
    }
    const std::string_view digits = spelled.substr(at, n);
    uint32_t code = 0;
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (digits.size() != n || parsed.ptr != digits.data() + n || code > 0x10FFFF) return bad_escape(spelled);
    at += n;
    if (escapes == Escapes::kBytes) {
      bytes += static_cast<char>(code);
    } else {
      append_utf8(bytes, code);
    }
  }
  return bytes;
}

std::string escape(std::string_view bytes) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string spelled;
  for (const char c : bytes) {
    const auto byte = static_cast<uint8_t>(c);
    if (c == '\t' || c == '\n' || c == '\r') {
      spelled += c == '\t' ? "\\t" : c == '\n' ? "\\n" : "\\r";
    } else if (byte < 0x20 || byte > 0x7E) {
      spelled += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      if (c == '\\') spelled += '\\';
      spelled += c;
    }
  }
  return spelled;
}

}  // namespace realizar::text
