#include "grammar/lark.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <vector>

#include "base/printable.h"
#include "base/try.h"
#include "grammar/code_points.h"
#include "grammar/lark_lexer.h"
#include "grammar/limits.h"
#include "grammar/pattern.h"
#include "grammar/rule_analysis.h"
#include "grammar/rule_book.h"

namespace realizar::grammar {
namespace {

using LarkKind = LarkToken::Kind;

constexpr size_t kMaxLarkBytes = 64 << 10;
constexpr int kMaxLarkNesting = 100;
constexpr uint32_t kMaxLarkRepeats = 10'000;

// Terminals that grammars import from Lark's own common.lark, as ECMAScript regular expressions.
struct CommonTerminal {
  std::string_view name, regex;
};
constexpr CommonTerminal kCommonTerminals[] = {
    {"DIGIT", "[0-9]"},
    {"HEXDIGIT", "[0-9a-fA-F]"},
    {"INT", "[0-9]+"},
    {"SIGNED_INT", "[+-]?[0-9]+"},
    {"DECIMAL", "[0-9]+\\.[0-9]*|\\.[0-9]+"},
    {"FLOAT", "[0-9]+[eE][+-]?[0-9]+|([0-9]+\\.[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?"},
    {"SIGNED_FLOAT", "[+-]?([0-9]+[eE][+-]?[0-9]+|([0-9]+\\.[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?)"},
    {"NUMBER", "[0-9]+([eE][+-]?[0-9]+)?|([0-9]+\\.[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?"},
    {"SIGNED_NUMBER", "[+-]?([0-9]+([eE][+-]?[0-9]+)?|([0-9]+\\.[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?)"},
    {"ESCAPED_STRING", "\"([^\"\\\\\\n]|\\\\[^\\n])*\""},
    {"LCASE_LETTER", "[a-z]"},
    {"UCASE_LETTER", "[A-Z]"},
    {"LETTER", "[A-Za-z]"},
    {"WORD", "[A-Za-z]+"},
    {"CNAME", "[A-Za-z_][A-Za-z0-9_]*"},
    {"WS_INLINE", "[ \\t]+"},
    {"WS", "[ \\t\\f\\r\\n]+"},
    {"CR", "\\r"},
    {"LF", "\\n"},
    {"NEWLINE", "(\\r?\\n)+"},
    {"SH_COMMENT", "#[^\\n]*"},
    {"CPP_COMMENT", "//[^\\n]*"},
    {"C_COMMENT", "/\\*([^*]|\\*+[^*/])*\\*+/"},
    {"SQL_COMMENT", "--[^\\n]*"},
};

bool is_terminal(std::string_view name) {
  const size_t letter = name.find_first_not_of('_');
  return letter != std::string_view::npos && std::isupper(static_cast<unsigned char>(name[letter])) != 0;
}

class LarkParser {
 public:
  LarkParser(std::vector<LarkToken> tokens, const std::string& path) : tokens_(std::move(tokens)), path_(path) {}

  Result<RuleSet> run() {
    while (peek().kind != LarkKind::kEnd) RZ_CHECK_OK(statement());
    if (!names_.contains("start") || book_.rule(names_.at("start")).body == kNoExpr) {
      return invalid_argument(path_ + ": the grammar has no rule \"start\"", path_);
    }
    for (const auto& [name, rule] : names_) {
      if (book_.rule(rule).body != kNoExpr) continue;
      return invalid_argument(fmt::format("{}: \"{}\" is used and not defined", path_, shown(name)), path_);
    }
    const ExprId nothing = book_.literal("");
    book_.define(between_, ignored_.empty() ? nothing : book_.repeat(book_.choice(ignored_), 0, kNoMaximum));
    const RuleId root = book_.reserve("root");
    book_.define(root, book_.sequence({book_.call(between_), book_.call(names_.at("start"))}));
    return book_.take(root);
  }

 private:
  const LarkToken& peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  bool is_mark(std::string_view mark, size_t ahead = 0) const {
    return peek(ahead).kind == LarkKind::kMark && peek(ahead).text == mark;
  }
  bool take_mark(std::string_view mark) {
    if (!is_mark(mark)) return false;
    ++at_;
    return true;
  }
  Error error(const std::string& what) const {
    return invalid_argument(fmt::format("{}: line {}: {}", path_, peek().line, what), path_);
  }
  Error not_built(const std::string& what) const {
    return unsupported(fmt::format("{}: line {}: {} not built", path_, peek().line, what), path_);
  }

  Status statement() {
    if (peek().kind == LarkKind::kNewline) {
      ++at_;
      return {};
    }
    if (peek().kind == LarkKind::kCommand) return command();
    if (peek().kind != LarkKind::kName) return error("expected a rule, a terminal or a command");
    return definition();
  }

  Status end_of_line() {
    if (peek().kind != LarkKind::kNewline) return error("expected the end of the line");
    ++at_;
    return {};
  }

  Status command() {
    const std::string word = peek().text;
    if (word != "ignore" && word != "import") return not_built("%" + shown(word) + " is");
    ++at_;
    if (word == "import") return import();
    in_terminal_ = true;
    RZ_TRY(ignored_.emplace_back(), choice(0, nullptr));
    return end_of_line();
  }

  // %import common.NAME, %import common.NAME -> OTHER, %import common (NAME, OTHER)
  Status import() {
    const bool is_common = peek().kind == LarkKind::kName && peek().text == "common";
    if (!is_common) return not_built("importing from other files than common is");
    ++at_;
    if (take_mark("(")) {
      do {
        RZ_TRY(const std::string name, word("the name of a terminal"));
        RZ_CHECK_OK(define_common(name, name));
      } while (take_mark(","));
      if (!take_mark(")")) return error("expected )");
      return end_of_line();
    }
    if (!take_mark(".")) return error("expected . after common");
    RZ_TRY(const std::string name, word("the name of a terminal"));
    std::string own = name;
    if (take_mark("->")) {
      RZ_TRY(own, word("a name"));
    }
    RZ_CHECK_OK(define_common(name, own));
    return end_of_line();
  }

  Result<std::string> word(const char* expected) {
    if (peek().kind != LarkKind::kName) return error(std::string("expected ") + expected);
    return tokens_[at_++].text;
  }

  Status define_common(const std::string& name, const std::string& own) {
    const auto* found = std::ranges::find(kCommonTerminals, name, &CommonTerminal::name);
    if (found == std::end(kCommonTerminals)) return not_built("common." + shown(name) + " is");
    RZ_TRY(const RuleId rule, rule_to_define(own));
    RZ_TRY(const ExprId body, regex_in_text(book_, found->regex, path_));
    book_.define(rule, body);
    return {};
  }

  RuleId rule_of(const std::string& name) {
    const auto [entry, is_new] = names_.emplace(name, RuleId{0});
    if (is_new) entry->second = book_.reserve(name);
    return entry->second;
  }

  Result<RuleId> rule_to_define(const std::string& name) {
    const RuleId rule = rule_of(name);
    if (book_.rule(rule).body != kNoExpr) return error("\"" + shown(name) + "\" is defined twice");
    return rule;
  }

  // name: body, name.2: body
  Status definition() {
    const std::string name = tokens_[at_++].text;
    if (is_mark("{")) return not_built("templates are");
    if (take_mark(".")) {
      if (peek().kind != LarkKind::kNumber) return error("expected a priority");
      ++at_;
    }
    if (!take_mark(":")) return error("expected : after \"" + shown(name) + "\"");
    RZ_TRY(const RuleId rule, rule_to_define(name));
    in_terminal_ = is_terminal(name);
    RZ_TRY(const ExprId body, choice(0, &rule));
    book_.define(rule, body);
    return end_of_line();
  }

  // Parses alternatives. The ones that begin with `rule` itself become a repetition after the others: the texts are the
  // same, and parsing from left to right terminates.
  Result<ExprId> choice(int depth, const RuleId* rule) {
    if (depth > kMaxLarkNesting) return error("parentheses are nested too deeply");
    std::vector<ExprId> first, repeated;
    do {
      RZ_TRY(std::vector<ExprId> parts, sequence(depth));
      if (take_mark("->")) {
        RZ_TRY([[maybe_unused]] const std::string alias, word("an alias"));
      }
      const bool is_left = rule != nullptr && !parts.empty() && book_.expr(parts[0]).kind == ExprKind::kRule &&
                           book_.expr(parts[0]).rule == *rule;
      if (is_left) parts.erase(parts.begin());
      if (is_left && parts.empty()) continue;
      (is_left ? repeated : first).push_back(book_.sequence(parts));
    } while (take_mark("|"));
    if (first.empty()) return error("a rule that always begins with itself never ends");
    const ExprId one = book_.choice(first);
    return repeated.empty() ? one : book_.sequence({one, book_.repeat(book_.choice(repeated), 0, kNoMaximum)});
  }

  bool ends_sequence() const {
    const LarkKind kind = peek().kind;
    if (kind == LarkKind::kNewline || kind == LarkKind::kEnd || kind == LarkKind::kCommand) return true;
    return is_mark("|") || is_mark(")") || is_mark("]") || is_mark("->");
  }

  Result<std::vector<ExprId>> sequence(int depth) {
    std::vector<ExprId> parts;
    while (!ends_sequence()) {
      RZ_TRY(parts.emplace_back(), repeated(depth));
    }
    return parts;
  }

  Result<ExprId> repeated(int depth) {
    RZ_TRY(const ExprId item, atom(depth));
    if (take_mark("?")) return book_.optional(item);
    if (take_mark("*")) return book_.repeat(item, 0, kNoMaximum);
    if (take_mark("+")) return book_.repeat(item, 1, kNoMaximum);
    if (!take_mark("~")) return item;
    RZ_TRY(const uint32_t least, count());
    uint32_t most = least;
    if (take_mark("..")) {
      RZ_TRY(most, count());
    }
    if (most < least) return error("expected the smaller number of repetitions first");
    return book_.repeat(item, least, most);
  }

  Result<uint32_t> count() {
    const std::string text = peek().kind == LarkKind::kNumber ? peek().text : "";
    uint32_t value = 0;
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_count = wrong == std::errc() && !text.empty() && value <= kMaxLarkRepeats;
    if (!is_count) return error(fmt::format("expected a number of repetitions up to {}", kMaxLarkRepeats));
    ++at_;
    return value;
  }

  Result<ExprId> atom(int depth) {
    if (take_mark("(")) return group(depth, ")");
    if (take_mark("[")) {
      RZ_TRY(const ExprId inner, group(depth, "]"));
      return book_.optional(inner);
    }
    switch (peek().kind) {
      case LarkKind::kName:
        return name();
      case LarkKind::kString:
        return is_mark("..", 1) ? range() : string();
      case LarkKind::kRegex:
        return regex();
      default:
        return error("expected a name, a string, a regular expression or a group");
    }
  }

  Result<ExprId> group(int depth, std::string_view end) {
    RZ_TRY(const ExprId inner, choice(depth + 1, nullptr));
    if (!take_mark(end)) return error("expected " + std::string(end));
    return inner;
  }

  // Text that %ignore names is allowed between terminals, but not inside them.
  ExprId terminal(ExprId text) { return in_terminal_ ? text : book_.sequence({text, book_.call(between_)}); }

  Result<ExprId> name() {
    const std::string& text = peek().text;
    if (is_mark("{", 1)) return not_built("templates are");
    const ExprId call = book_.call(rule_of(text));
    const bool is_token = is_terminal(text);
    ++at_;
    return is_token ? terminal(call) : call;
  }

  Result<ExprId> string() {
    const LarkToken& token = tokens_[at_++];
    if (token.flags.empty()) return terminal(book_.literal(token.text));
    std::vector<ExprId> letters;
    for (size_t i = 0; i < token.text.size();) {
      const uint32_t code = read_utf8(token.text, i);
      if (code == kBadCodePoint) return error("a string is not UTF-8");
      std::vector<CodeRange> ranges{{code, code}};
      if (code < 0x80 && std::isalpha(static_cast<int>(code)) != 0) ranges.push_back({code ^ 0x20, code ^ 0x20});
      letters.push_back(book_.char_of(normalized(ranges)));
    }
    return terminal(book_.sequence(letters));
  }

  // "a".."z"
  Result<ExprId> range() {
    uint32_t ends[2] = {};
    for (uint32_t& end : ends) {
      const std::string text = peek().kind == LarkKind::kString ? peek().text : "";
      size_t n_bytes = 0;
      end = text.empty() ? kBadCodePoint : read_utf8(text, n_bytes);
      if (end == kBadCodePoint || n_bytes != text.size()) return error("a range goes from one character to another");
      ++at_;
      take_mark("..");
    }
    if (ends[1] < ends[0]) return error("expected the smaller character of a range first");
    return terminal(book_.char_of(normalized({{ends[0], ends[1]}})));
  }

  Result<ExprId> regex() {
    const LarkToken& token = peek();
    if (!token.flags.empty() && token.flags != "u") return not_built("flags of regular expressions are");
    auto text = regex_in_text(book_, token.text, fmt::format("{}: line {}", path_, token.line));
    if (!text.ok()) return Error{text.error().code, text.error().message, path_};
    ++at_;
    return terminal(*text);
  }

  std::vector<LarkToken> tokens_;
  const std::string& path_;
  size_t at_ = 0;
  RuleBook book_;
  std::map<std::string, RuleId> names_;
  std::vector<ExprId> ignored_;
  RuleId between_ = book_.reserve("between");
  bool in_terminal_ = false;  // the current position is inside one
};

}  // namespace

Result<RuleSet> parse_lark(std::string_view source, const std::string& path) {
  if (source.size() > kMaxLarkBytes) {
    return invalid_argument(
        fmt::format("{}: the grammar has {} bytes; the limit is {}", path, source.size(), kMaxLarkBytes), path);
  }
  RZ_TRY(std::vector<LarkToken> tokens, lark_tokens(source, path));
  RZ_TRY(RuleSet rules, LarkParser(std::move(tokens), path).run());
  const auto is_empty_class = [](const Expr& e) { return e.kind == ExprKind::kClass && e.ranges.empty(); };
  if (std::any_of(rules.exprs.begin(), rules.exprs.end(), is_empty_class)) {
    return invalid_argument(path + ": a class of characters matches none", path);
  }
  const auto usable = analyze_rules(rules, Deadline(Limits().compile_timeout_ms));
  if (!usable.ok()) return invalid_argument(path + ": " + usable.error().message, path);
  return rules;
}

}  // namespace realizar::grammar
