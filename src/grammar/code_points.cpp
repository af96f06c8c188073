#include "grammar/code_points.h"

#include <algorithm>

namespace realizar::grammar {
namespace {

uint32_t utf8_length(uint32_t code) {
  return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}

// The last code point of the same UTF-8 length.
uint32_t last_of_length(uint32_t n_bytes) {
  constexpr uint32_t kLast[] = {0, 0x7F, 0x7FF, 0xFFFF, kMaxCodePoint};
  return kLast[n_bytes];
}

Utf8Block block_of(uint32_t first, uint32_t last) {
  std::string low, high;
  append_utf8(low, first);
  append_utf8(high, last);
  Utf8Block block;
  block.n_bytes = static_cast<uint32_t>(low.size());
  for (size_t i = 0; i < low.size(); ++i) {
    block.bytes[i] = {static_cast<uint8_t>(low[i]), static_cast<uint8_t>(high[i])};
  }
  return block;
}

// The end of the largest block from `first` on: each trailing byte of a block is either one value or all of 80..BF, and
// only one byte between those may have a smaller range.
uint32_t block_end(uint32_t first, uint32_t last) {
  uint32_t end = std::min(last, last_of_length(utf8_length(first)));
  for (uint32_t n_free_bits = 6; n_free_bits < 6 * utf8_length(first); n_free_bits += 6) {
    const uint32_t mask = (1u << n_free_bits) - 1;
    if ((first & ~mask) == (end & ~mask)) break;
    if ((first & mask) != 0) return first | mask;
    if ((end & mask) != mask) end = (end & ~mask) - 1;
  }
  return end;
}

}  // namespace

void append_utf8(std::string& out, uint32_t code) {
  const auto trailing = [&](uint32_t shift) { out += static_cast<char>(0x80 | (code >> shift & 0x3F)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | code >> 6);
    trailing(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | code >> 12);
    trailing(6);
    trailing(0);
  } else {
    out += static_cast<char>(0xF0 | code >> 18);
    trailing(12);
    trailing(6);
    trailing(0);
  }
}

uint32_t read_utf8(std::string_view text, size_t& at) {
  const auto lead = static_cast<uint8_t>(text[at++]);
  if (lead < 0x80) return lead;
  const uint32_t n_trailing = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
  if (lead < 0xC2 || lead > 0xF4 || at + n_trailing > text.size()) return kBadCodePoint;
  uint32_t code = lead & (0x3F >> n_trailing);
  for (uint32_t i = 0; i < n_trailing; ++i) {
    const auto byte = static_cast<uint8_t>(text[at + i]);
    if ((byte & 0xC0) != 0x80) return kBadCodePoint;
    code = code << 6 | (byte & 0x3F);
  }
  if (utf8_length(code) != n_trailing + 1 || is_surrogate(code) || code > kMaxCodePoint) return kBadCodePoint;
  at += n_trailing;
  return code;
}

std::vector<CodeRange> normalized(std::vector<CodeRange> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](CodeRange a, CodeRange b) { return a.first < b.first; });
  std::vector<CodeRange> joined;
  for (const CodeRange range : ranges) {
    if (!joined.empty() && range.first <= joined.back().last + 1) {
      joined.back().last = std::max(joined.back().last, range.last);
    } else {
      joined.push_back(range);
    }
  }
  return intersection(joined, {{0, 0xD7FF}, {0xE000, kMaxCodePoint}});
}

std::vector<CodeRange> complement(std::vector<CodeRange> ranges) {
  std::vector<CodeRange> out;
  uint32_t next = 0;
  for (const CodeRange range : normalized(std::move(ranges))) {
    if (range.first > next) out.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= kMaxCodePoint) out.push_back({next, kMaxCodePoint});
  return normalized(std::move(out));
}

std::vector<CodeRange> intersection(const std::vector<CodeRange>& a, const std::vector<CodeRange>& b) {
  std::vector<CodeRange> out;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const CodeRange common{std::max(a[i].first, b[j].first), std::min(a[i].last, b[j].last)};
    if (common.first <= common.last) out.push_back(common);
    a[i].last < b[j].last ? ++i : ++j;
  }
  return out;
}

void append_utf8_blocks(CodeRange range, std::vector<Utf8Block>& blocks) {
  for (uint32_t first = range.first; first <= range.last;) {
    const uint32_t last = block_end(first, range.last);
    blocks.push_back(block_of(first, last));
    first = last + 1;
  }
}

}  // namespace realizar::grammar
