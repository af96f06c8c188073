#include "base/printable.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <span>

#include "base/utf8.h"

namespace realizar {
namespace {

struct Char {
  uint32_t code;
  size_t n_bytes;  // 0: not valid UTF-8
};

Char char_at(std::string_view text) {
  const auto byte = [text](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const size_t n = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < n) return {0, 0};
  uint32_t code = lead & (0x7fu >> n);
  for (size_t i = 1; i < n; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {0, 0};
    code = code << 6 | (byte(i) & 0x3fu);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xd800 && code < 0xe000;
  return code < kLeast[n] || code > 0x10ffff || is_surrogate ? Char{0, 0} : Char{code, n};
}

struct Range {
  uint32_t first, last;
  bool in_prose;  // needed in prose
};

constexpr Range kUnseen[] = {
#define UNSEEN(first, last) {first, last, false},
#define IN_PROSE(first, last) {first, last, true},
#include "base/unseen_chars.txt"
#undef UNSEEN
#undef IN_PROSE
};

constexpr bool in_order(std::span<const Range> ranges) {
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (ranges[i].first > ranges[i].last || (i > 0 && ranges[i - 1].last >= ranges[i].first)) return false;
  }
  return true;
}
static_assert(in_order(kUnseen));

bool is_seen(uint32_t code, bool in_prose) {
  if (code >= 0x20 && code < 0x7f) return true;
  const Range* range = std::ranges::lower_bound(kUnseen, code, {}, &Range::last);
  return range == std::end(kUnseen) || code < range->first || (in_prose && range->in_prose);
}

void append_hex(std::string& out, const char* format, uint32_t value) {
  char text[16];
  std::snprintf(text, sizeof text, format, value);
  out += text;
}

void append_unseen(std::string& out, uint32_t code) {
  switch (code) {
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      append_hex(out, code < 0x80 ? "\\x%02x" : "\\u{%x}", code);
  }
}

std::string spelled_out(std::string_view text, Lines lines, bool in_prose) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Char c = char_at(text);
    const bool is_line = lines == Lines::kMany && (c.code == '\n' || c.code == '\t');
    if (c.n_bytes == 0) {
      append_hex(out, "\\x%02x", static_cast<uint8_t>(text[0]));
    } else if (is_line || is_seen(c.code, in_prose)) {
      out += text.substr(0, c.n_bytes);
    } else {
      append_unseen(out, c.code);
    }
    text.remove_prefix(std::max<size_t>(1, c.n_bytes));
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text, Lines lines) {
  return spelled_out(text, lines, /*in_prose=*/false);
}

std::string printable_prose(std::string_view text) {
  return spelled_out(text, Lines::kMany, /*in_prose=*/true);
}

std::string shown(std::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return printable(text);
  size_t n = max_bytes;
  while (n > 0 && continues_character(text[n])) --n;
  return printable(text.substr(0, n)) + "... (" + std::to_string(text.size()) + " bytes)";
}

}  // namespace realizar
