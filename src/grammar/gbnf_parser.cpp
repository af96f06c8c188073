#include "grammar/gbnf_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/encodings.h"
#include "base/try.h"
#include "grammar/code_points.h"
#include "grammar/rule_book.h"

namespace realizar::grammar {
namespace {

constexpr int kMaxGroupNesting = 200;

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

class Parser {
 public:
  Parser(std::string_view source, const Limits& limits, RuleBook& book)
      : source_(source), limits_(limits), deadline_(limits.compile_timeout_ms), book_(book) {}

  Result<RuleSet> run() {
    if (source_.size() > limits_.max_source_bytes) {
      return limit_exceeded(
          fmt::format("the grammar has {} bytes; the limit is {}", source_.size(), limits_.max_source_bytes));
    }
    skip_blank(true);
    while (at_ < source_.size()) {
      RZ_CHECK_OK(rule());
      RZ_CHECK_OK(deadline_.check());
    }
    const RuleId root = book_.named("root");
    if (book_.rule(root).body == kNoExpr) return invalid_argument("the grammar has no rule \"root\"", "root");
    return book_.take(root);
  }

  Result<ExprId> run_expression() {
    RZ_TRY(const ExprId expr, choice(0));
    if (at_ < source_.size()) return error_at(at_, "expected the end");
    return expr;
  }

 private:
  char peek(size_t ahead = 0) const { return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0'; }

  struct Place {
    uint32_t line, column;
  };
  // Continues counting from the last request, since locations are requested in order.
  Place place_of(size_t at) {
    for (; counted_ < at && counted_ < source_.size(); ++counted_) {
      if (source_[counted_] != '\n') continue;
      ++line_;
      line_start_ = counted_ + 1;
    }
    return {line_, static_cast<uint32_t>(at - line_start_ + 1)};
  }

  Error error_at(size_t at, const std::string& what) {
    at = std::max(at, counted_);
    const Place place = place_of(at);
    return invalid_argument(fmt::format("line {}, column {}: {}", place.line, place.column, what), "grammar");
  }

  void skip_blank(bool over_lines) {
    for (; at_ < source_.size(); ++at_) {
      const char c = source_[at_];
      if (c == '#') {
        while (at_ + 1 < source_.size() && source_[at_ + 1] != '\n') ++at_;
      } else if (c != ' ' && c != '\t' && !(over_lines && (c == '\n' || c == '\r'))) {
        return;
      }
    }
  }

  // Also skips line breaks if a `|` follows them: no rule can begin with it.
  void skip_to_choice() {
    const size_t before = at_;
    skip_blank(true);
    if (peek() != '|') at_ = before;
    skip_blank(false);
  }

  Result<std::string> name() {
    const size_t begin = at_;
    while (is_name_char(peek())) ++at_;
    if (at_ == begin) return error_at(at_, "expected the name of a rule");
    return std::string(source_.substr(begin, at_ - begin));
  }

  Result<RuleId> rule_id(const std::string& rule_name, size_t at) {
    const size_t n_before = book_.n_rules();
    const RuleId id = book_.named(rule_name);
    if (book_.n_rules() == n_before) return id;
    if (n_before >= limits_.max_rules) {
      return limit_exceeded(fmt::format("the grammar has more than {} rules", limits_.max_rules));
    }
    set_place(id, at);
    return id;
  }

  void set_place(RuleId id, size_t at) {
    const Place place = place_of(at);
    book_.rule(id).line = place.line;
    book_.rule(id).column = place.column;
  }

  Status rule() {
    const size_t begin = at_;
    RZ_TRY(const std::string rule_name, name());
    RZ_TRY(const RuleId id, rule_id(rule_name, begin));
    skip_blank(false);
    if (source_.substr(at_, 3) != "::=") return error_at(at_, "expected ::= after \"" + rule_name + "\"");
    if (book_.rule(id).body != kNoExpr) return error_at(begin, "rule \"" + rule_name + "\" is defined twice");
    set_place(id, begin);
    at_ += 3;
    skip_blank(true);
    // Only the next rule, or the end, may follow: the body is empty.
    if (starts_rule()) {
      book_.define(id, book_.literal(""));
      return {};
    }
    RZ_TRY(const ExprId body, choice(0));
    book_.define(id, body);
    if (at_ < source_.size() && peek() != '\n' && peek() != '\r') return error_at(at_, "expected the end of the line");
    skip_blank(true);
    return {};
  }

  bool starts_rule() const {
    size_t at = at_;
    while (at < source_.size() && is_name_char(source_[at])) ++at;
    if (at == at_) return at_ >= source_.size();
    while (at < source_.size() && (source_[at] == ' ' || source_[at] == '\t')) ++at;
    return source_.substr(at, 3) == "::=";
  }

  Result<ExprId> choice(int nesting) {
    if (nesting > kMaxGroupNesting) return error_at(at_, fmt::format("groups nest deeper than {}", kMaxGroupNesting));
    std::vector<ExprId> options;
    while (true) {
      RZ_TRY(const ExprId option, sequence(nesting));
      options.push_back(option);
      if (nesting == 0) skip_to_choice();
      if (peek() != '|') break;
      ++at_;
      skip_blank(true);
    }
    return book_.choice(options);
  }

  Result<ExprId> sequence(int nesting) {
    std::vector<ExprId> items;
    skip_blank(nesting > 0);
    while (at_ < source_.size() && peek() != '|' && peek() != ')' && peek() != '\n' && peek() != '\r') {
      if (nesting == 0 && starts_rule()) break;
      RZ_TRY(ExprId item, atom(nesting));
      RZ_TRY(item, repeated(item));
      items.push_back(item);
      skip_blank(nesting > 0);
    }
    return book_.sequence(items);
  }

  Result<ExprId> atom(int nesting) {
    const size_t begin = at_;
    if (peek() == '"') return literal();
    if (peek() == '[') return char_class();
    if (peek() == '.') {
      ++at_;
      return book_.char_of(complement({}));
    }
    if (peek() == '(') {
      ++at_;
      RZ_TRY(const ExprId inner, choice(nesting + 1));
      if (peek() != ')') return error_at(at_, "expected )");
      ++at_;
      return inner;
    }
    if (!is_name_char(peek())) return error_at(at_, "expected a literal, a class, a group or the name of a rule");
    RZ_TRY(const std::string rule_name, name());
    RZ_TRY(const RuleId id, rule_id(rule_name, begin));
    return book_.call(id);
  }

  Result<ExprId> literal() {
    const size_t begin = at_++;
    std::string bytes;
    while (peek() != '"') {
      if (at_ >= source_.size() || peek() == '\n') return error_at(begin, "the literal has no closing \"");
      RZ_TRY(const uint32_t code, character());
      append_utf8(bytes, code);
    }
    ++at_;
    return book_.literal(bytes);
  }

  Result<ExprId> char_class() {
    const size_t begin = at_++;
    const bool negated = peek() == '^';
    if (negated) ++at_;
    std::vector<CodeRange> ranges;
    while (peek() != ']') {
      if (at_ >= source_.size() || peek() == '\n') return error_at(begin, "the class has no closing ]");
      RZ_TRY(const uint32_t first, character());
      uint32_t last = first;
      if (peek() == '-' && peek(1) != ']') {
        ++at_;
        RZ_TRY(last, character());
      }
      if (last < first) return error_at(begin, "the class has a range that runs backwards");
      ranges.push_back({first, last});
    }
    ++at_;
    ranges = negated ? complement(std::move(ranges)) : normalized(std::move(ranges));
    if (ranges.empty()) return error_at(begin, "the class matches no character");
    return book_.char_of(std::move(ranges));
  }

  // One character of a literal or a class, unescaped.
  Result<uint32_t> character() {
    const size_t begin = at_;
    if (peek() != '\\') {
      const uint32_t code = at_ < source_.size() ? read_utf8(source_, at_) : kBadCodePoint;
      if (code == kBadCodePoint) return error_at(begin, "not valid UTF-8");
      return code;
    }
    const char kind = peek(1);
    at_ += 2;
    switch (kind) {
      case 'n':
        return '\n';
      case 't':
        return '\t';
      case 'r':
        return '\r';
      case 'x':
        return hex(2, begin);
      case 'u':
        return hex(4, begin);
      case 'U':
        return hex(8, begin);
      default:
        if (kind == '\\' || kind == '"' || kind == '[' || kind == ']' || kind == '-' || kind == '^') return kind;
        return error_at(begin, "unknown escape");
    }
  }

  Result<uint32_t> hex(int n_digits, size_t begin) {
    uint32_t code = 0;
    for (int i = 0; i < n_digits; ++i) {
      const int digit = hex_digit(peek());
      if (digit < 0) return error_at(begin, fmt::format("the escape needs {} hexadecimal digits", n_digits));
      code = code << 4 | static_cast<uint32_t>(digit);
      ++at_;
    }
    if (code > kMaxCodePoint || is_surrogate(code)) return error_at(begin, "the escape is not a Unicode character");
    return code;
  }

  Result<ExprId> repeated(ExprId item) {
    skip_blank(false);
    uint32_t min = 0, max = kUnbounded;
    const size_t begin = at_;
    if (peek() == '+') {
      min = 1;
    } else if (peek() == '?') {
      max = 1;
    } else if (peek() == '{') {
      RZ_CHECK_OK(counts(min, max));
    } else if (peek() != '*') {
      return item;
    }
    ++at_;
    skip_blank(false);
    if (peek() == '*' || peek() == '+' || peek() == '?' || peek() == '{') {
      return error_at(begin, "two repetitions on one item; use parentheses");
    }
    return book_.repeat(item, min, max);
  }

  // {m}, {m,}, {,n} or {m,n}; stops on the closing brace.
  Status counts(uint32_t& min, uint32_t& max) {
    const size_t begin = at_++;
    skip_blank(false);
    const bool has_min = peek() >= '0' && peek() <= '9';
    if (has_min) {
      RZ_TRY(min, number());
    }
    max = min;
    if (peek() == ',') {
      ++at_;
      skip_blank(false);
      max = kUnbounded;
      if (peek() >= '0' && peek() <= '9') {
        RZ_TRY(max, number());
      }
    } else if (!has_min) {
      return error_at(begin, "expected a count after {");
    }
    if (peek() != '}') return error_at(begin, "expected {m}, {m,} or {m,n}");
    if (min > max) return error_at(begin, fmt::format("the repetition runs from {} to {}", min, max));
    return {};
  }

  Result<uint32_t> number() {
    const size_t begin = at_;
    uint64_t value = 0;
    for (; peek() >= '0' && peek() <= '9'; ++at_) value = std::min<uint64_t>(value * 10 + (peek() - '0'), kUnbounded);
    if (value > 2'000'000'000) return error_at(begin, "a count above 2000000000");
    skip_blank(false);
    return static_cast<uint32_t>(value);
  }

  std::string_view source_;
  const Limits& limits_;
  Deadline deadline_;
  size_t at_ = 0;
  size_t counted_ = 0, line_start_ = 0;
  uint32_t line_ = 1;
  RuleBook& book_;
};

}  // namespace

Result<RuleSet> parse_gbnf(std::string_view source, const Limits& limits) {
  RuleBook book;
  return Parser(source, limits, book).run();
}

Result<ExprId> parse_gbnf_expression(std::string_view source, RuleBook& book) {
  const Limits limits;
  return Parser(source, limits, book).run_expression();
}

}  // namespace realizar::grammar
