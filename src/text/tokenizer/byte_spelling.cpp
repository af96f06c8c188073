#include "text/tokenizer/byte_spelling.h"

#include <array>
#include <charconv>

#include "base/printable.h"
#include "base/try.h"
#include "text/utf8.h"

namespace realizar::text {
namespace {

constexpr uint32_t kMaxCode = 0x143;  // the 68 unprintable bytes become U+0100 ... U+0143

constexpr bool is_printable(uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Alphabet {
  std::array<std::array<char, 2>, 256> spelling{};
  std::array<uint8_t, 256> n_bytes{};
  std::array<int16_t, kMaxCode + 1> byte_of{};  // -1: not in the alphabet
};

constexpr Alphabet make_alphabet() {
  Alphabet a;
  for (int16_t& byte : a.byte_of) byte = -1;
  uint32_t next = 0x100;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const uint32_t code = is_printable(byte) ? byte : next++;
    a.byte_of[code] = static_cast<int16_t>(byte);
    if (code < 0x80) {
      a.spelling[byte][0] = static_cast<char>(code);
      a.n_bytes[byte] = 1;
    } else {
      a.spelling[byte][0] = static_cast<char>(0xC0 | (code >> 6));
      a.spelling[byte][1] = static_cast<char>(0x80 | (code & 0x3F));
      a.n_bytes[byte] = 2;
    }
  }
  return a;
}

constexpr Alphabet kAlphabet = make_alphabet();

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

std::string_view spell_byte(uint8_t byte) {
  return {kAlphabet.spelling[byte].data(), kAlphabet.n_bytes[byte]};
}

void append_spelled(std::string& out, std::string_view bytes) {
  for (char c : bytes) out += spell_byte(static_cast<uint8_t>(c));
}

std::optional<std::string> unspell_bytes(std::string_view piece) {
  std::string bytes;
  bytes.reserve(piece.size());
  for (size_t at = 0; at < piece.size();) {
    const DecodedChar c = decode_char(piece, at);
    if (!c.valid || c.code > kMaxCode || kAlphabet.byte_of[c.code] < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(kAlphabet.byte_of[c.code]));
    at += c.n_bytes;
  }
  return bytes;
}

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
