#include "text/jinja/token_reader.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace realizar::text::jinja {
namespace {

using Nested = TokenReader::Nested;

constexpr int kMaxHeight = 400;  // of an expression's tree

struct OperatorWord {
  std::string_view word;
  Operator op;
};

// One function for each level of precedence, the lowest first.
class ExpressionParser {
 public:
  explicit ExpressionParser(TokenReader& reader) : reader_(reader) {}

  // name, ns.attribute, or several of them with commas or in brackets
  ExprPtr target() {
    const bool in_brackets = reader_.accept_op("(");
    std::vector<ExprPtr> names;
    bool is_tuple = in_brackets;
    do {
      if (in_brackets && reader_.is_op(")")) break;
      names.push_back(reader_.is_op("(") ? target() : single_target());
      is_tuple |= reader_.is_op(",");
    } while (reader_.accept_op(",") && (reader_.is(TokenKind::kName) || reader_.is_op("(") || in_brackets));
    if (in_brackets) reader_.expect_op(")");
    if (!is_tuple || (names.size() == 1 && in_brackets)) return std::move(names.front());
    auto tuple = make(ExprKind::kTuple);
    tuple->children = std::move(names);
    return tuple;
  }

  // name(args) | name(args) ..., applied to the content of a block
  ExprPtr filter_chain() {
    ExprPtr chain;
    do {
      chain = filter_call(std::move(chain));
    } while (reader_.accept_op("|"));
    return chain;
  }

  // A tuple needs no brackets: {% for x in 1, 2 %}. `with_condition`: "x if y" belongs to the expression.
  ExprPtr tuple_or_expression(bool with_condition) {
    auto first = with_condition ? expression() : disjunction();
    if (!reader_.is_op(",")) return first;
    auto tuple = make(ExprKind::kTuple);
    adopt(*tuple, std::move(first));
    while (reader_.accept_op(",")) {
      if (reader_.is(TokenKind::kBlockEnd) || reader_.is(TokenKind::kVariableEnd)) break;
      adopt(*tuple, with_condition ? expression() : disjunction());
    }
    return tuple;
  }

  ExprPtr expression() {
    const Nested nested(reader_);
    auto expr = disjunction();
    while (reader_.accept_name("if")) {
      auto condition = make(ExprKind::kCondition);
      adopt(*condition, std::move(expr));
      adopt(*condition, disjunction());
      adopt(*condition, reader_.accept_name("else") ? expression() : nullptr);
      expr = std::move(condition);
    }
    return expr;
  }

  ExprPtr postfix() {
    auto expr = primary();
    while (true) {
      if (reader_.accept_op(".")) {
        if (reader_.is(TokenKind::kInteger)) {
          auto item = make(ExprKind::kItem);
          adopt(*item, std::move(expr));
          adopt(*item, number());
          expr = std::move(item);
          continue;
        }
        auto attribute = make(ExprKind::kAttribute, reader_.expect_any_name());
        adopt(*attribute, std::move(expr));
        expr = std::move(attribute);
      } else if (reader_.accept_op("[")) {
        expr = subscript(std::move(expr));
      } else if (reader_.is_op("(")) {
        expr = call(std::move(expr));
      } else {
        return expr;
      }
    }
  }

 private:
  ExprPtr make(ExprKind kind, std::string name = {}) const {
    auto expr = std::make_unique<Expr>();
    expr->kind = kind;
    expr->line = reader_.line();
    expr->name = std::move(name);
    return expr;
  }
  void adopt(Expr& parent, ExprPtr child) const {
    if (child) parent.height = std::max(parent.height, child->height + 1);
    if (parent.height > kMaxHeight) reader_.fail("nested too deep");
    parent.children.push_back(std::move(child));
  }

  ExprPtr single_target() {
    auto name = make(ExprKind::kName, reader_.expect_any_name());
    if (!reader_.accept_op(".")) return name;
    auto attribute = make(ExprKind::kAttribute, reader_.expect_any_name());
    adopt(*attribute, std::move(name));
    return attribute;
  }

  ExprPtr filter_call(ExprPtr input) {
    auto filter = make(ExprKind::kFilter, dotted_name());
    adopt(*filter, std::move(input));
    if (reader_.accept_op("(")) filter->args = call_args();
    return filter;
  }

  std::string dotted_name() {
    std::string name = reader_.expect_any_name();
    while (reader_.accept_op(".")) name += "." + reader_.expect_any_name();
    return name;
  }

  ExprPtr unary_of(Operator op, ExprPtr operand) {
    auto expr = make(ExprKind::kUnary);
    expr->op = op;
    adopt(*expr, std::move(operand));
    return expr;
  }

  ExprPtr binary(Operator op, ExprPtr left, ExprPtr right) {
    auto expr = make(ExprKind::kBinary);
    expr->op = op;
    adopt(*expr, std::move(left));
    adopt(*expr, std::move(right));
    return expr;
  }

  ExprPtr disjunction() {
    auto expr = conjunction();
    while (reader_.accept_name("or")) expr = binary(Operator::kOr, std::move(expr), conjunction());
    return expr;
  }

  ExprPtr conjunction() {
    auto expr = negation();
    while (reader_.accept_name("and")) expr = binary(Operator::kAnd, std::move(expr), negation());
    return expr;
  }

  ExprPtr negation() {
    const Nested nested(reader_);
    if (!reader_.accept_name("not")) return comparison();
    return unary_of(Operator::kNot, negation());
  }

  // If the next token is one of the operators in `among`, reads it.
  std::optional<Operator> accept_any(std::span<const OperatorWord> among) {
    for (const auto& [word, op] : among) {
      if (reader_.accept_op(word)) return op;
    }
    return std::nullopt;
  }

  std::optional<Operator> comparison_operator() {
    static constexpr OperatorWord kWords[] = {{"==", Operator::kEqual},     {"!=", Operator::kNotEqual},
                                              {"<=", Operator::kLessEqual}, {">=", Operator::kGreaterEqual},
                                              {"<", Operator::kLess},       {">", Operator::kGreater}};
    if (const auto op = accept_any(kWords)) return op;
    if (reader_.accept_name("in")) return Operator::kIn;
    if (!reader_.is_name("not") || !reader_.is_name("in", 1)) return std::nullopt;
    reader_.next();
    reader_.next();
    return Operator::kNotIn;
  }

  ExprPtr comparison() {
    auto first = sum();
    ExprPtr chain;
    while (const auto op = comparison_operator()) {
      if (!chain) {
        chain = make(ExprKind::kCompare);
        adopt(*chain, std::move(first));
      }
      chain->operators.push_back(*op);
      adopt(*chain, sum());
    }
    return chain ? std::move(chain) : std::move(first);
  }

  // Operands with left-associative operators between them.
  ExprPtr chain(std::span<const OperatorWord> words, ExprPtr (ExpressionParser::*operand)()) {
    auto expr = (this->*operand)();
    while (const auto op = accept_any(words)) expr = binary(*op, std::move(expr), (this->*operand)());
    return expr;
  }

  static constexpr OperatorWord kSigns[] = {{"+", Operator::kAdd}, {"-", Operator::kSubtract}};
  static constexpr OperatorWord kConcat[] = {{"~", Operator::kConcat}};
  static constexpr OperatorWord kFactors[] = {
      {"*", Operator::kMultiply}, {"/", Operator::kDivide}, {"//", Operator::kFloorDivide}, {"%", Operator::kModulo}};
  static constexpr OperatorWord kPower[] = {{"**", Operator::kPower}};

  ExprPtr sum() { return chain(kSigns, &ExpressionParser::concatenation); }
  ExprPtr concatenation() { return chain(kConcat, &ExpressionParser::product); }
  ExprPtr product() { return chain(kFactors, &ExpressionParser::power); }
  // Unlike in Python, Jinja's power binds less than a sign, and is left-associative.
  ExprPtr power() { return chain(kPower, &ExpressionParser::signed_operand); }
  ExprPtr signed_operand() { return unary(); }

  ExprPtr unary(bool with_filters = true) {
    const Nested nested(reader_);
    const auto sign = accept_any(kSigns);
    ExprPtr expr = sign ? unary_of(*sign, unary(false)) : postfix();
    return with_filters ? filters_and_tests(std::move(expr)) : std::move(expr);
  }

  ExprPtr filters_and_tests(ExprPtr expr) {
    while (true) {
      if (reader_.accept_op("|")) {
        expr = filter_call(std::move(expr));
      } else if (reader_.accept_name("is")) {
        expr = test(std::move(expr));
      } else if (reader_.is_op("(")) {
        expr = call(std::move(expr));
      } else {
        return expr;
      }
    }
  }

  // Call after reading the opening parenthesis.
  CallArgs call_args() {
    CallArgs args;
    while (!reader_.is_op(")")) {
      if (reader_.accept_op("**")) {
        args.double_star = expression();
      } else if (reader_.accept_op("*")) {
        args.star = expression();
      } else if (reader_.is(TokenKind::kName) && reader_.is_op("=", 1)) {
        std::string name = reader_.next().text;
        reader_.next();
        args.named.emplace_back(std::move(name), expression());
      } else {
        if (!args.named.empty()) reader_.fail("a positional argument after a named one");
        args.positional.push_back(expression());
      }
      if (!reader_.accept_op(",")) break;
    }
    reader_.expect_op(")");
    return args;
  }

  ExprPtr test(ExprPtr subject) {
    const bool negated = reader_.accept_name("not");
    auto expr = make(ExprKind::kTest, dotted_name());
    adopt(*expr, std::move(subject));
    if (reader_.accept_op("(")) {
      expr->args = call_args();
    } else if (starts_test_argument()) {
      expr->args.positional.push_back(postfix());
    }
    return negated ? unary_of(Operator::kNot, std::move(expr)) : std::move(expr);
  }

  // "x is divisibleby 3": an argument without brackets.
  bool starts_test_argument() const {
    if (reader_.is(TokenKind::kString) || reader_.is(TokenKind::kInteger) || reader_.is(TokenKind::kFloat) ||
        reader_.is_op("[") || reader_.is_op("{"))
      return true;
    if (!reader_.is(TokenKind::kName)) return false;
    for (const std::string_view word : {"else", "or", "and", "if", "is", "in", "not", "recursive"}) {
      if (reader_.is_name(word)) return false;
    }
    return true;
  }

  ExprPtr call(ExprPtr callee) {
    reader_.expect_op("(");
    auto expr = make(ExprKind::kCall);
    adopt(*expr, std::move(callee));
    expr->args = call_args();
    return expr;
  }

  ExprPtr subscript(ExprPtr object) {
    ExprPtr bounds[3];
    bool is_slice = false;
    if (!reader_.is_op(":")) bounds[0] = tuple_or_expression(true);
    for (int i = 1; i < 3 && reader_.accept_op(":"); ++i) {
      is_slice = true;
      if (!reader_.is_op(":") && !reader_.is_op("]")) bounds[i] = expression();
    }
    reader_.expect_op("]");
    auto expr = make(is_slice ? ExprKind::kSlice : ExprKind::kItem);
    adopt(*expr, std::move(object));
    adopt(*expr, std::move(bounds[0]));
    if (is_slice) {
      adopt(*expr, std::move(bounds[1]));
      adopt(*expr, std::move(bounds[2]));
    }
    return expr;
  }

  ExprPtr literal(Value value) {
    auto expr = make(ExprKind::kLiteral);
    expr->literal = std::move(value);
    return expr;
  }

  ExprPtr number() {
    const Token token = reader_.next();
    if (token.kind == TokenKind::kInteger) {
      int64_t value = 0;
      const auto result = std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
      if (result.ec != std::errc{}) reader_.fail("the number " + token.text + " is too large");
      return literal(value);
    }
    double value = 0;
    std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
    return literal(value);
  }

  ExprPtr primary() {
    const Nested nested(reader_);
    if (reader_.is(TokenKind::kInteger) || reader_.is(TokenKind::kFloat)) return number();
    if (reader_.is(TokenKind::kString)) {
      std::string text = reader_.next().text;
      while (reader_.is(TokenKind::kString)) text += reader_.next().text;
      return literal(std::move(text));
    }
    if (reader_.is(TokenKind::kName)) return name();
    if (reader_.accept_op("(")) return bracketed();
    if (reader_.accept_op("[")) return list();
    if (reader_.accept_op("{")) return dict();
    reader_.fail_expected("an expression");
  }

  ExprPtr name() {
    const std::string word = reader_.next().text;
    if (word == "true" || word == "True") return literal(true);
    if (word == "false" || word == "False") return literal(false);
    if (word == "none" || word == "None") return literal(None{});
    return make(ExprKind::kName, word);
  }

  ExprPtr bracketed() {
    if (reader_.accept_op(")")) return make(ExprKind::kTuple);
    auto first = expression();
    if (!reader_.is_op(",")) {
      reader_.expect_op(")");
      return first;
    }
    auto tuple = make(ExprKind::kTuple);
    adopt(*tuple, std::move(first));
    while (reader_.accept_op(",") && !reader_.is_op(")")) adopt(*tuple, expression());
    reader_.expect_op(")");
    return tuple;
  }

  ExprPtr list() {
    auto expr = make(ExprKind::kList);
    while (!reader_.is_op("]")) {
      adopt(*expr, expression());
      if (!reader_.accept_op(",")) break;
    }
    reader_.expect_op("]");
    return expr;
  }

  ExprPtr dict() {
    auto expr = make(ExprKind::kDict);
    while (!reader_.is_op("}")) {
      adopt(*expr, expression());
      reader_.expect_op(":");
      adopt(*expr, expression());
      if (!reader_.accept_op(",")) break;
    }
    reader_.expect_op("}");
    return expr;
  }

  TokenReader& reader_;
};

}  // namespace

ExprPtr parse_expression(TokenReader& reader) {
  return ExpressionParser(reader).expression();
}
ExprPtr parse_tuple_or_expression(TokenReader& reader, bool with_condition) {
  return ExpressionParser(reader).tuple_or_expression(with_condition);
}
ExprPtr parse_target(TokenReader& reader) {
  return ExpressionParser(reader).target();
}
ExprPtr parse_filter_chain(TokenReader& reader) {
  return ExpressionParser(reader).filter_chain();
}
ExprPtr parse_postfix(TokenReader& reader) {
  return ExpressionParser(reader).postfix();
}

}  // namespace realizar::text::jinja
