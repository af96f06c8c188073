#include "grammar/pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "grammar/code_points.h"
#include "grammar/rule_book.h"

namespace realizar::grammar {
namespace {

constexpr int kMaxPatternNesting = 40;
constexpr uint64_t kMaxCount = 1'000'000;

using Ranges = std::vector<CodeRange>;

// A piece of the pattern, translated.
struct Piece {
  std::string gbnf;
  uint64_t min = 0, max = 0;  // length in code points, saturated
  bool is_char = false;       // one code point
};

uint64_t saturated_product(uint64_t a, uint64_t b) {
  return a != 0 && b > kNoMaximum / a ? kNoMaximum : a * b;
}
uint64_t saturated_sum(uint64_t a, uint64_t b) {
  return a > kNoMaximum - b ? kNoMaximum : a + b;
}

const Ranges kDigits{{'0', '9'}};
const Ranges kWord{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
// ECMA-262: WhiteSpace and LineTerminator.
const Ranges kSpace{{0x09, 0x0D},     {0x20, 0x20},     {0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200A},
                    {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
const Ranges kLineEnds{{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};

// One code point of the class as JSON spells it.
std::string spelled(const Ranges& ranges) {
  std::string out;
  const Ranges plain = intersection(ranges, plain_string_chars());
  if (!plain.empty()) out = gbnf_class(plain);
  for (const CodeRange range : intersection(ranges, {{0, 0x1F}, {'"', '"'}, {'\\', '\\'}})) {
    for (uint32_t code = range.first; code <= range.last; ++code) {
      out += (out.empty() ? "" : " | ") + gbnf_literal(json_char(code));
    }
  }
  return "(" + out + ")";
}

enum class TextForm { kJsonString, kPlain };

class Translator {
 public:
  Translator(std::string_view pattern, const std::string& path, TextForm form)
      : pattern_(pattern), path_(path), form_(form) {}

  // The alternatives at the top, each with its own anchors.
  Result<Piece> run() {
    Piece all;
    bool is_first = true;
    do {
      const bool at_begin = take("^");
      RZ_TRY(Piece one, sequence(0));
      const bool at_end = take("$");
      if (at_ < pattern_.size() && peek() != '|') return stopped();
      const bool is_whole = form_ == TextForm::kPlain;
      if (!at_begin && !is_whole) one = joined({std::string(kStringChar) + "*", 0, kNoMaximum}, one);
      if (!at_end && !is_whole) one = joined(one, {std::string(kStringChar) + "*", 0, kNoMaximum});
      if (is_whole && one.gbnf.empty()) one.gbnf = "\"\"";
      all = is_first ? one : either(all, one);
      is_first = false;
    } while (take("|"));
    return all;
  }

  // `^x{m,n}$` alone, for one code point x: x and its counts.
  const std::optional<Piece>& only_char() const { return only_char_; }

 private:
  char peek(size_t ahead = 0) const { return at_ + ahead < pattern_.size() ? pattern_[at_ + ahead] : '\0'; }
  bool take(std::string_view text) {
    if (pattern_.substr(at_, text.size()) != text) return false;
    at_ += text.size();
    return true;
  }

  Error broken(const std::string& what) const {
    return invalid_argument(fmt::format("{}: {} at character {} of the pattern", path_, what, at_ + 1), path_);
  }
  Error not_built(const std::string& what) const {
    return unsupported(fmt::format("{}: {} in a pattern is not supported (character {})", path_, what, at_ + 1), path_);
  }
  Error stopped() const {
    if (peek() == '^') return not_built("^ that is not at the beginning");
    if (peek() == '$') return not_built("$ that is not at the end");
    return broken(fmt::format("unexpected '{}'", peek()));
  }

  static Piece joined(const Piece& a, const Piece& b) {
    if (a.gbnf.empty()) return b;
    if (b.gbnf.empty()) return a;
    return {a.gbnf + " " + b.gbnf, saturated_sum(a.min, b.min), saturated_sum(a.max, b.max)};
  }
  static Piece either(const Piece& a, const Piece& b) {
    return {"(" + a.gbnf + " | " + b.gbnf + ")", std::min(a.min, b.min), std::max(a.max, b.max)};
  }

  Result<Piece> choice(int nesting) {
    RZ_TRY(Piece all, sequence(nesting));
    while (take("|")) {
      RZ_TRY(const Piece next, sequence(nesting));
      all = either(all, next);
    }
    return all;
  }

  Result<Piece> sequence(int nesting) {
    if (nesting > kMaxPatternNesting) return broken(fmt::format("groups nest deeper than {}", kMaxPatternNesting));
    Piece all;
    const size_t begin = at_;
    while (at_ < pattern_.size() && peek() != '|' && peek() != ')' && peek() != '$' && peek() != '^') {
      const bool is_first = at_ == begin;
      RZ_TRY(const Piece one, atom(nesting));
      RZ_TRY(const Piece repeat, repeated(one));
      const bool is_only = is_first && begin == 1 && pattern_.substr(at_) == "$";
      if (is_only && one.is_char) only_char_ = Piece{one.gbnf, repeat.min, repeat.max};
      all = joined(all, repeat);
    }
    return all;
  }

  Result<Piece> atom(int nesting) {
    if (peek() == '(') return group(nesting);
    if (peek() == '[') return char_class();
    if (take(".")) return of_ranges(complement(kLineEnds));
    if (peek() == '*' || peek() == '+' || peek() == '?' || peek() == '{') return broken("nothing to repeat");
    if (peek() == '\\') {
      RZ_TRY(const Ranges ranges, escape(false));
      return of_ranges(ranges);
    }
    const uint32_t code = read_utf8(pattern_, at_);
    return of_ranges({{code, code}});
  }

  Piece of_ranges(const Ranges& ranges) const {
    return {form_ == TextForm::kPlain ? gbnf_class(normalized(ranges)) : spelled(ranges), 1, 1, true};
  }

  Result<Piece> group(int nesting) {
    ++at_;
    if (peek() == '?' && !take("?:")) {
      if (peek(1) == '=' || peek(1) == '!') return not_built("lookahead");
      if (peek(1) == '<' && (peek(2) == '=' || peek(2) == '!')) return not_built("lookbehind");
      if (peek(1) != '<') return not_built(fmt::format("(?{}", peek(1)));
      while (at_ < pattern_.size() && peek() != '>') ++at_;
      ++at_;
    }
    RZ_TRY(Piece inner, choice(nesting + 1));
    if (!take(")")) return at_ < pattern_.size() ? stopped() : broken("a group is not closed");
    inner.gbnf = inner.gbnf.empty() ? "\"\"" : "(" + inner.gbnf + ")";
    return inner;
  }

  Result<Piece> repeated(Piece item) {
    uint64_t min = 0, max = kNoMaximum;
    if (take("?")) {
      max = 1;
    } else if (take("+")) {
      min = 1;
    } else if (peek() == '{') {
      RZ_CHECK_OK(counts(min, max));
    } else if (!take("*")) {
      return item;
    }
    (void)take("?");  // lazy: the same strings
    item.gbnf += gbnf_repeat(min, max);
    item.min = saturated_product(item.min, min);
    item.max = saturated_product(item.max, max);
    item.is_char = false;
    return item;
  }

  Status counts(uint64_t& min, uint64_t& max) {
    ++at_;
    const auto number = [&]() -> std::optional<uint64_t> {
      const size_t begin = at_;
      uint64_t value = 0;
      for (; peek() >= '0' && peek() <= '9'; ++at_)
        value = std::min<uint64_t>(value * 10 + (peek() - '0'), kMaxCount + 1);
      return at_ == begin ? std::nullopt : std::optional(value);
    };
    const auto first = number();
    if (!first) return broken("expected a count after {");
    min = max = *first;
    if (take(",")) max = number().value_or(kNoMaximum);
    if (!take("}")) return broken("expected }");
    if (min > max) return broken("a repetition runs backwards");
    if (min > kMaxCount || (max > kMaxCount && max != kNoMaximum)) return broken("a count is too large");
    return {};
  }

  Result<Piece> char_class() {
    ++at_;
    const bool negated = take("^");
    Ranges ranges;
    while (peek() != ']') {
      if (at_ >= pattern_.size()) return broken("a class is not closed");
      RZ_TRY(const Ranges first, class_item());
      const bool is_range = peek() == '-' && peek(1) != ']' && peek(1) != '\0';
      if (!is_range || first.size() != 1 || first[0].first != first[0].last) {
        ranges.insert(ranges.end(), first.begin(), first.end());
        continue;
      }
      ++at_;
      RZ_TRY(const Ranges last, class_item());
      if (last.size() != 1 || last[0].first != last[0].last) return broken("a range ends in a class");
      if (last[0].first < first[0].first) return broken("a range runs backwards");
      ranges.push_back({first[0].first, last[0].first});
    }
    ++at_;
    ranges = negated ? complement(std::move(ranges)) : normalized(std::move(ranges));
    if (ranges.empty()) return broken("a class matches no character");
    return of_ranges(ranges);
  }

  Result<Ranges> class_item() {
    if (peek() == '\\') return escape(true);
    const uint32_t code = read_utf8(pattern_, at_);
    return Ranges{{code, code}};
  }

  Result<Ranges> escape(bool in_class) {
    ++at_;
    const char kind = peek();
    const auto one = [](uint32_t code) { return Ranges{{code, code}}; };
    if (kind == '\0') return broken("a \\ at the end");
    if (kind == 'b' && in_class) return ++at_, one('\b');
    if (kind == 'b' || kind == 'B') return not_built("\\b");
    if ((kind >= '1' && kind <= '9') || kind == 'k') return not_built("a backreference");
    if (kind == 'p' || kind == 'P') return not_built("\\p");
    if (kind == 'c') return not_built("\\c");
    if (kind == 'x' || kind == 'u') return hex_escape();
    const auto byte = static_cast<unsigned char>(kind);
    if (byte >= 0x80) return class_item_after_backslash();
    ++at_;
    switch (kind) {
      case 'd':
        return kDigits;
      case 'D':
        return complement(kDigits);
      case 'w':
        return kWord;
      case 'W':
        return complement(kWord);
      case 's':
        return kSpace;
      case 'S':
        return complement(kSpace);
      case 't':
        return one('\t');
      case 'n':
        return one('\n');
      case 'r':
        return one('\r');
      case 'f':
        return one('\f');
      case 'v':
        return one('\v');
      case '0':
        return one(0);
      default:
        break;
    }
    const bool is_letter = (kind >= 'a' && kind <= 'z') || (kind >= 'A' && kind <= 'Z');
    if (is_letter) return broken(fmt::format("unknown escape \\{}", kind));
    return one(byte);
  }

  Ranges class_item_after_backslash() {
    const uint32_t code = read_utf8(pattern_, at_);
    return {{code, code}};
  }

  // \xHH, \uHHHH (two for a surrogate pair) or \u{H...}.
  Result<Ranges> hex_escape() {
    const bool is_unicode = peek() == 'u';
    ++at_;
    uint32_t code = 0;
    if (is_unicode && take("{")) {
      RZ_TRY(code, hex(1, 6));
      if (!take("}")) return broken("expected }");
    } else {
      const size_t n_digits = is_unicode ? 4 : 2;
      RZ_TRY(code, hex(n_digits, n_digits));
    }
    if (code >= 0xD800 && code < 0xDC00 && take("\\u")) {
      RZ_TRY(const uint32_t low, hex(4, 4));
      if (low < 0xDC00 || low > 0xDFFF) return broken("half a surrogate pair");
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    if (is_surrogate(code) || code > kMaxCodePoint) return broken("not a Unicode character");
    return Ranges{{code, code}};
  }

  Result<uint32_t> hex(size_t min_digits, size_t max_digits) {
    uint32_t code = 0;
    size_t n = 0;
    for (; n < max_digits; ++n, ++at_) {
      const char c = peek();
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) break;
      code = code << 4 | static_cast<uint32_t>(digit);
    }
    if (n < min_digits) return broken("too few hexadecimal digits");
    return code;
  }

  std::string_view pattern_;
  const std::string& path_;
  TextForm form_;
  size_t at_ = 0;
  std::optional<Piece> only_char_;
};

}  // namespace

Result<std::string> pattern_to_gbnf(std::string_view pattern, const LengthRange& wanted, const std::string& path) {
  Translator translator(pattern, path, TextForm::kJsonString);
  RZ_TRY(const Piece piece, translator.run());
  if (piece.min >= wanted.min && piece.max <= wanted.max) return piece.gbnf.empty() ? "\"\"" : piece.gbnf;
  const auto& only = translator.only_char();
  if (only) {
    const uint64_t min = std::max(only->min, wanted.min), max = std::min(only->max, wanted.max);
    if (min > max) return invalid_argument(path + ": no string has both this pattern and this length", path);
    return only->gbnf + gbnf_repeat(min, max);
  }
  return unsupported(path +
                         ": pattern together with minLength or maxLength is supported only where the pattern already "
                         "keeps to them, or is one repeated character",
                     path);
}

Result<std::string> regex_to_gbnf(std::string_view regex, const std::string& path) {
  RZ_TRY(const Piece whole, Translator(regex, path, TextForm::kPlain).run());
  return whole.gbnf;
}

}  // namespace realizar::grammar
