#include "grammar/pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/try.h"
#include "grammar/code_points.h"
#include "grammar/rule_book.h"

namespace realizar::grammar {
namespace {

constexpr int kMaxPatternNesting = 40;
constexpr uint64_t kMaxCount = 1'000'000;

using Ranges = std::vector<CodeRange>;

// A piece of the pattern, translated.
struct Piece {
  std::vector<ExprId> parts;  // one after the other
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

enum class TextForm { kJsonString, kPlain };

class Translator {
 public:
  Translator(RuleBook& book, std::string_view pattern, const std::string& path, TextForm form)
      : book_(book), pattern_(pattern), path_(path), form_(form) {}

  // The alternatives at the top, each with its own anchors.
  Result<Piece> run() {
    Alternatives all;
    do {
      const bool at_begin = take("^");
      RZ_TRY(Piece one, sequence(0));
      const bool at_end = take("$");
      if (at_ < pattern_.size() && peek() != '|') return stopped();
      const bool is_whole = form_ == TextForm::kPlain;
      if (!at_begin && !is_whole) {
        Piece before = any_text();
        join(before, std::move(one));
        one = std::move(before);
      }
      if (!at_end && !is_whole) join(one, any_text());
      all.add(book_, std::move(one));
    } while (take("|"));
    return all.piece(book_);
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

  // One of several pieces; a piece alone stays as it is.
  struct Alternatives {
    Piece first;
    std::vector<ExprId> options;
    uint64_t min = kNoMaximum, max = 0;

    void add(RuleBook& book, Piece piece) {
      min = std::min(min, piece.min);
      max = std::max(max, piece.max);
      options.push_back(book.sequence(piece.parts));
      if (options.size() == 1) first = std::move(piece);
    }
    Piece piece(RuleBook& book) {
      if (options.size() == 1) return std::move(first);
      return {{book.choice(options)}, min, max};
    }
  };

  Piece any_text() { return {{book_.repeat(book_.string_char(), 0, kNoMaximum)}, 0, kNoMaximum}; }

  static void join(Piece& all, Piece next) {
    if (next.parts.empty()) return;
    if (all.parts.empty()) {
      all = std::move(next);
      return;
    }
    all.parts.insert(all.parts.end(), next.parts.begin(), next.parts.end());
    all.min = saturated_sum(all.min, next.min);
    all.max = saturated_sum(all.max, next.max);
    all.is_char = false;
  }

  Result<Piece> choice(int nesting) {
    Alternatives all;
    do {
      RZ_TRY(Piece next, sequence(nesting));
      all.add(book_, std::move(next));
    } while (take("|"));
    return all.piece(book_);
  }

  Result<Piece> sequence(int nesting) {
    if (nesting > kMaxPatternNesting) return broken(fmt::format("groups nest deeper than {}", kMaxPatternNesting));
    Piece all;
    const size_t begin = at_;
    while (at_ < pattern_.size() && peek() != '|' && peek() != ')' && peek() != '$' && peek() != '^') {
      const bool is_first = at_ == begin;
      RZ_TRY(const Piece one, atom(nesting));
      RZ_TRY(Piece repeat, repeated(one));
      const bool is_only = is_first && begin == 1 && pattern_.substr(at_) == "$";
      if (is_only && one.is_char) only_char_ = Piece{one.parts, repeat.min, repeat.max};
      join(all, std::move(repeat));
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

  Piece of_ranges(const Ranges& ranges) {
    return {{form_ == TextForm::kPlain ? book_.char_of(normalized(ranges)) : spelled(ranges)}, 1, 1, true};
  }

  // One code point of the class as JSON spells it.
  ExprId spelled(const Ranges& ranges) {
    std::vector<ExprId> options;
    const Ranges plain = intersection(ranges, plain_string_chars());
    if (!plain.empty()) options.push_back(book_.char_of(plain));
    for (const CodeRange range : intersection(ranges, {{0, 0x1F}, {'"', '"'}, {'\\', '\\'}})) {
      for (uint32_t code = range.first; code <= range.last; ++code) options.push_back(book_.literal(json_char(code)));
    }
    return book_.choice(options);
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
    inner.parts = {book_.sequence(inner.parts)};
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
    item.parts = {book_.repeat(book_.sequence(item.parts), min, max)};
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

  RuleBook& book_;
  std::string_view pattern_;
  const std::string& path_;
  TextForm form_;
  size_t at_ = 0;
  std::optional<Piece> only_char_;
};

}  // namespace

Result<ExprId> pattern_in_string(RuleBook& book, std::string_view pattern, const LengthRange& wanted,
                                 const std::string& path) {
  Translator translator(book, pattern, path, TextForm::kJsonString);
  RZ_TRY(const Piece piece, translator.run());
  if (piece.min >= wanted.min && piece.max <= wanted.max) return book.sequence(piece.parts);
  const auto& only = translator.only_char();
  if (only) {
    const uint64_t min = std::max(only->min, wanted.min), max = std::min(only->max, wanted.max);
    if (min > max) return invalid_argument(path + ": no string has both this pattern and this length", path);
    return book.repeat(book.sequence(only->parts), min, max);
  }
  return unsupported(path +
                         ": pattern together with minLength or maxLength is supported only where the pattern already "
                         "keeps to them, or is one repeated character",
                     path);
}

Result<ExprId> regex_in_text(RuleBook& book, std::string_view regex, const std::string& path) {
  RZ_TRY(const Piece whole, Translator(book, regex, path, TextForm::kPlain).run());
  return book.sequence(whole.parts);
}

}  // namespace realizar::grammar
