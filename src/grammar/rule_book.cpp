#include "grammar/rule_book.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "grammar/code_points.h"
#include "grammar/gbnf_parser.h"

namespace realizar::grammar {
namespace {

struct SharedRule {
  std::string_view name;
  std::string_view body;
};

// Whitespace and digits are bounded, so that a model cannot repeat them forever.
constexpr SharedRule kSharedRules[] = {
    {"ws", R"((" " | "\n" (" "{0,64} | "\t"{1,16}))?)"},
    {"hex", R"([0-9a-fA-F])"},
    {"low-surrogate", R"("\\u" [dD] [c-fC-F] hex hex)"},
    {"escape",
     R"(["\\/bfnrt] | "u" ([0-9a-cA-CeEfF] hex hex hex | [dD] [0-7] hex hex | [dD] [89abAB] hex hex low-surrogate))"},
    {"string", R"("\"" ([^"\\\x00-\x1F] | "\\" escape)* "\"")"},
    {"string-rest", R"(([^"\\\x00-\x1F] | "\\" escape)* "\"")"},
    {"boolean", R"("true" | "false")"},
    {"integer", R"("0" | "-"? [1-9] [0-9]{0,31})"},
    {"number", R"("-"? ("0" | [1-9] [0-9]{0,31}) ("." [0-9]{1,32})? ([eE] [-+]? [0-9]{1,2})?)"},
    {"value", R"(object | array | string | number | boolean | "null")"},
    {"object", R"("{" (ws member ("," ws member)*)? ws "}")"},
    {"member", R"(string ":" " "? value)"},
    {"array", R"("[" (ws value ("," ws value)*)? ws "]")"},
};

}  // namespace

std::vector<CodeRange> plain_string_chars() {
  return complement({{0, 0x1F}, {'"', '"'}, {'\\', '\\'}});
}

std::string json_char(uint32_t code) {
  switch (code) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\b':
      return "\\b";
    case '\f':
      return "\\f";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      break;
  }
  if (code < 0x20) return fmt::format("\\u{:04x}", code);
  std::string out;
  append_utf8(out, code);
  return out;
}

ExprId RuleBook::add_expr(Expr expr) {
  rules_.exprs.push_back(std::move(expr));
  return static_cast<ExprId>(rules_.exprs.size() - 1);
}

ExprId RuleBook::literal(std::string_view bytes) {
  return add_expr({.kind = ExprKind::kLiteral, .bytes = std::string(bytes)});
}

ExprId RuleBook::char_of(std::vector<CodeRange> ranges) {
  return add_expr({.kind = ExprKind::kClass, .ranges = std::move(ranges)});
}

ExprId RuleBook::add_list(ExprKind kind, std::span<const ExprId> children) {
  Expr list{.kind = kind};
  for (const ExprId id : children) {
    const Expr& child = rules_.exprs[id];
    if (child.kind == kind) {
      list.children.insert(list.children.end(), child.children.begin(), child.children.end());
    } else {
      list.children.push_back(id);
    }
  }
  return list.children.size() == 1 ? list.children[0] : add_expr(std::move(list));
}

ExprId RuleBook::sequence(std::span<const ExprId> parts) {
  std::vector<ExprId> present;
  for (const ExprId id : parts) {
    const Expr& part = rules_.exprs[id];
    if (part.kind != ExprKind::kLiteral || !part.bytes.empty()) present.push_back(id);
  }
  return present.empty() ? literal("") : add_list(ExprKind::kSequence, present);
}

ExprId RuleBook::choice(std::span<const ExprId> options) {
  REQUIRE(!options.empty());
  return add_list(ExprKind::kChoice, options);
}

ExprId RuleBook::repeat(ExprId item, uint64_t min, uint64_t max) {
  constexpr uint64_t kLargest = 2'000'000'000;  // no text is that long
  Expr expr{.kind = ExprKind::kRepeat};
  expr.min = static_cast<uint32_t>(std::min(min, kLargest));
  expr.max = max > kLargest ? kUnbounded : static_cast<uint32_t>(max);
  expr.children = {item};
  return add_expr(std::move(expr));
}

ExprId RuleBook::machine(std::span<const Move> moves, std::span<const ExprId> children) {
  REQUIRE(moves.size() == children.size());
  std::vector<size_t> order(moves.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return moves[i].from; });
  Expr expr{.kind = ExprKind::kMachine};
  for (const size_t i : order) {
    expr.moves.push_back(moves[i]);
    expr.children.push_back(children[i]);
  }
  return add_expr(std::move(expr));
}

ExprId RuleBook::call(RuleId rule) {
  return add_expr({.kind = ExprKind::kRule, .rule = rule});
}

ExprId RuleBook::gbnf(std::string_view expression) {
  const auto first_new = static_cast<RuleId>(n_rules());
  const Result<ExprId> parsed = parse_gbnf_expression(expression, *this);
  REQUIRE(parsed.ok());
  define_shared_from(first_new);
  return *parsed;
}

ExprId RuleBook::string_char() {
  return gbnf(R"([^"\\\x00-\x1F] | "\\" escape)");
}

ExprId RuleBook::string_char_of(const std::vector<CodeRange>& ranges) {
  std::vector<ExprId> options;
  if (const auto plain = intersection(ranges, plain_string_chars()); !plain.empty()) options.push_back(char_of(plain));
  // Groups escapes by everything before their last character.
  std::map<std::string, std::vector<CodeRange>> last_by_begin;
  for (const CodeRange range : intersection(ranges, complement(plain_string_chars()))) {
    for (uint32_t code = range.first; code <= range.last; ++code) {
      const std::string escape = json_char(code);
      const uint32_t last = static_cast<unsigned char>(escape.back());
      last_by_begin[escape.substr(0, escape.size() - 1)].push_back({last, last});
    }
  }
  for (const auto& [begin, last] : last_by_begin) {
    options.push_back(sequence({literal(begin), char_of(normalized(last))}));
  }
  return choice(options);
}

bool RuleBook::is_same(ExprId a, ExprId b) const {
  const Expr& x = rules_.exprs[a];
  const Expr& y = rules_.exprs[b];
  if (a == b) return true;
  return x.kind == y.kind && x.bytes == y.bytes && x.ranges == y.ranges && x.rule == y.rule && x.min == y.min &&
         x.max == y.max && x.moves == y.moves &&
         std::ranges::equal(x.children, y.children, [&](ExprId c, ExprId d) { return is_same(c, d); });
}

size_t RuleBook::depth_of(ExprId id) const {
  size_t deepest = 0;
  for (const ExprId child : rules_.exprs[id].children) deepest = std::max(deepest, depth_of(child));
  return deepest + 1;
}

RuleId RuleBook::reserve(std::string_view hint) {
  std::string name;
  for (const char c : hint.substr(0, 40)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    name += plain ? c : '-';
  }
  if (name.empty()) name = "rule";
  // The number keeps names apart from those of the shared rules.
  rules_.rules.push_back({.name = fmt::format("{}-{}", name, ++n_reserved_)});
  return static_cast<RuleId>(n_rules() - 1);
}

ExprId RuleBook::add(std::string_view hint, ExprId body) {
  const RuleId rule = reserve(hint);
  define(rule, body);
  return call(rule);
}

RuleId RuleBook::named(std::string_view name) {
  const auto [found, is_new] = by_name_.try_emplace(std::string(name), static_cast<RuleId>(n_rules()));
  if (is_new) rules_.rules.push_back({.name = found->first});
  return found->second;
}

ExprId RuleBook::shared(std::string_view name) {
  const auto first_new = static_cast<RuleId>(n_rules());
  const RuleId rule = named(name);
  define_shared_from(first_new);
  return call(rule);
}

// Defines the new, undefined rules, and those that they use in turn.
void RuleBook::define_shared_from(RuleId first) {
  for (RuleId id = first; id < n_rules(); ++id) {
    if (rules_.rules[id].body != kNoExpr) continue;
    const auto shared_rule = std::ranges::find(kSharedRules, rules_.rules[id].name, &SharedRule::name);
    REQUIRE(shared_rule != std::end(kSharedRules));
    const Result<ExprId> body = parse_gbnf_expression(shared_rule->body, *this);
    REQUIRE(body.ok());
    define(id, *body);
  }
}

RuleSet RuleBook::take(RuleId root) {
  rules_.root = root;
  by_name_.clear();
  return std::exchange(rules_, {});
}

}  // namespace realizar::grammar
