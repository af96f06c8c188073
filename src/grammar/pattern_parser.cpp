#include "grammar/pattern_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/encodings.h"
#include "base/try.h"
#include "grammar/code_points.h"
#include "grammar/rule_book.h"

namespace realizar::grammar {
namespace {

constexpr int kMaxPatternNesting = 40;
constexpr uint64_t kMaxCount = 1'000'000;

using Kind = PatternNode::Kind;
using Ranges = std::vector<CodeRange>;

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

// A node with several parts.
PatternNode joined(Kind kind, std::vector<PatternNode> parts, size_t at) {
  PatternNode all{.kind = kind, .at = at};
  const bool is_choice = kind == Kind::kChoice;
  if (is_choice) all.min_length = kNoMaximum;
  for (const PatternNode& part : parts) {
    all.has_assertions = all.has_assertions || part.has_assertions;
    all.min_length =
        is_choice ? std::min(all.min_length, part.min_length) : saturated_sum(all.min_length, part.min_length);
    all.max_length =
        is_choice ? std::max(all.max_length, part.max_length) : saturated_sum(all.max_length, part.max_length);
  }
  all.children = std::move(parts);
  return all;
}

class PatternParser {
 public:
  PatternParser(std::string_view pattern, const std::string& path) : pattern_(pattern), path_(path) {}

  Result<PatternNode> run() {
    RZ_TRY(PatternNode whole, choice(0));
    if (at_ < pattern_.size()) return broken(fmt::format("unexpected '{}'", peek()));
    return whole;
  }

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

  Result<PatternNode> choice(int nesting) {
    const size_t begin = at_;
    std::vector<PatternNode> options;
    do {
      RZ_TRY(PatternNode next, sequence(nesting));
      options.push_back(std::move(next));
    } while (take("|"));
    return joined(Kind::kChoice, std::move(options), begin);
  }

  Result<PatternNode> sequence(int nesting) {
    if (nesting > kMaxPatternNesting) return broken(fmt::format("groups nest deeper than {}", kMaxPatternNesting));
    const size_t begin = at_;
    std::vector<PatternNode> parts;
    while (at_ < pattern_.size() && peek() != '|' && peek() != ')') {
      RZ_TRY(PatternNode one, atom(nesting));
      const bool is_assertion = one.kind >= Kind::kLookahead;
      if (!is_assertion) {
        RZ_TRY(one, repeated(std::move(one)));
      }
      parts.push_back(std::move(one));
    }
    return joined(Kind::kSequence, std::move(parts), begin);
  }

  Result<PatternNode> atom(int nesting) {
    const size_t begin = at_;
    if (take("^")) return PatternNode{.kind = Kind::kBegin, .has_assertions = true, .at = begin};
    if (take("$")) return PatternNode{.kind = Kind::kEnd, .has_assertions = true, .at = begin};
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

  PatternNode of_ranges(Ranges ranges) const {
    return {.kind = Kind::kChars, .ranges = normalized(std::move(ranges)), .min_length = 1, .max_length = 1, .at = at_};
  }

  Result<PatternNode> group(int nesting) {
    const size_t begin = at_++;
    if (take("?=") || take("?!")) return lookahead(begin, nesting);
    if (peek() == '?' && !take("?:")) RZ_CHECK_OK(group_name());
    return closed_group(nesting);
  }

  // ?<name>, which does not affect the matching strings.
  Status group_name() {
    if (peek(1) != '<') return not_built(fmt::format("(?{}", peek(1)));
    if (peek(2) == '=' || peek(2) == '!') return not_built("lookbehind");
    const size_t end = pattern_.find('>', at_);
    if (end == std::string_view::npos) return broken("the name of a group is not closed");
    at_ = end + 1;
    return {};
  }

  Result<PatternNode> closed_group(int nesting) {
    RZ_TRY(PatternNode inner, choice(nesting + 1));
    if (!take(")")) return broken("a group is not closed");
    return inner;
  }

  Result<PatternNode> lookahead(size_t begin, int nesting) {
    const bool negated = pattern_[at_ - 1] == '!';
    RZ_TRY(PatternNode inner, closed_group(nesting));
    PatternNode node{.kind = Kind::kLookahead, .negated = negated, .has_assertions = true, .at = begin};
    node.children.push_back(std::move(inner));
    return node;
  }

  Result<PatternNode> repeated(PatternNode item) {
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
    (void)take("?");  // lazy: matches the same strings
    PatternNode node{.kind = Kind::kRepeat, .min = min, .max = max, .has_assertions = item.has_assertions};
    node.min_length = saturated_product(item.min_length, min);
    node.max_length = saturated_product(item.max_length, max);
    node.at = item.at;
    node.children.push_back(std::move(item));
    return node;
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

  Result<PatternNode> char_class() {
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
      const int digit = hex_digit(peek());
      if (digit < 0) break;
      code = code << 4 | static_cast<uint32_t>(digit);
    }
    if (n < min_digits) return broken("too few hexadecimal digits");
    return code;
  }

  std::string_view pattern_;
  const std::string& path_;
  size_t at_ = 0;
};

}  // namespace

Result<PatternNode> parse_pattern(std::string_view pattern, const std::string& path) {
  return PatternParser(pattern, path).run();
}

}  // namespace realizar::grammar
