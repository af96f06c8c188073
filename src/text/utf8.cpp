#include "text/utf8.h"

#include <simdjson.h>

#include <algorithm>

#include "base/utf8.h"

namespace realizar::text {
namespace {

constexpr char kSubstitute = '\x1A';

struct LeadByte {
  uint32_t n_bytes = 0;  // 0: not a lead byte
  uint8_t second_min = 0x80;
  uint8_t second_max = 0xBF;
};

// Unicode 15.0, table 3-7: the second byte's range rules out overlong forms, surrogates and codes past U+10FFFF.
LeadByte lead_byte(uint8_t byte) {
  if (byte < 0xC2) return {};
  if (byte < 0xE0) return {2};
  if (byte < 0xF0)
    return {3, static_cast<uint8_t>(byte == 0xE0 ? 0xA0 : 0x80), static_cast<uint8_t>(byte == 0xED ? 0x9F : 0xBF)};
  if (byte < 0xF5)
    return {4, static_cast<uint8_t>(byte == 0xF0 ? 0x90 : 0x80), static_cast<uint8_t>(byte == 0xF4 ? 0x8F : 0xBF)};
  return {};
}

}  // namespace

DecodedChar decode_char(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[at + i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return {first, 1, true};
  const LeadByte lead = lead_byte(first);
  if (lead.n_bytes == 0) return {};
  uint32_t code = first & (0x7Fu >> lead.n_bytes);
  for (uint32_t i = 1; i < lead.n_bytes; ++i) {
    const bool good = at + i < text.size() && continues_character(text[at + i]) &&
                      (i > 1 || (byte(i) >= lead.second_min && byte(i) <= lead.second_max));
    if (!good) return {kReplacementChar, i, false};
    code = (code << 6) | (byte(i) & 0x3Fu);
  }
  return {code, lead.n_bytes, true};
}

void append_utf8(std::string& out, uint32_t code) {
  const auto put = [&](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | (code >> 6));
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3F));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

bool is_valid_utf8(std::string_view text) {
  return simdjson::validate_utf8(text.data(), text.size());
}

std::string_view whole_chars(std::string_view text, size_t max_bytes) {
  size_t n_bytes = std::min(max_bytes, text.size());
  while (n_bytes > 0 && n_bytes < text.size() && continues_character(text[n_bytes])) --n_bytes;
  return text.substr(0, n_bytes);
}

std::string replace_invalid_utf8(std::string_view text) {
  if (is_valid_utf8(text)) return std::string(text);
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const DecodedChar c = decode_char(text, at);
    if (c.valid) {
      out.append(text, at, c.n_bytes);
    } else {
      append_utf8(out, kReplacementChar);
    }
    at += c.n_bytes;
  }
  return out;
}

std::string mask_invalid_utf8(std::string_view text) {
  std::string out(text);
  if (is_valid_utf8(text)) return out;
  for (size_t at = 0; at < text.size();) {
    const DecodedChar c = decode_char(text, at);
    if (!c.valid) out.replace(at, c.n_bytes, c.n_bytes, kSubstitute);
    at += c.n_bytes;
  }
  return out;
}

}  // namespace realizar::text
