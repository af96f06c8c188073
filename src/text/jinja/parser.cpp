#include "text/jinja/parser.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>

#include "text/jinja/lexer.h"

namespace realizar::text::jinja {
namespace {

constexpr int kMaxSyntaxDepth = 150;  // of nested expressions and statements together
constexpr int kMaxHeight = 400;       // of one expression's tree

class Parser {
 public:
  explicit Parser(std::string_view source) : tokens_(tokenize(source)) {}

  Body run() { return statements({}); }

 private:
  // Counts nesting while it lives, so that no source overflows the stack.
  class Nested {
   public:
    explicit Nested(Parser& parser) : parser_(parser) {
      if (++parser_.depth_ > kMaxSyntaxDepth) parser_.fail("nested too deep");
    }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;
    ~Nested() { --parser_.depth_; }

   private:
    Parser& parser_;
  };

  const Token& peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  [[noreturn]] void fail(const std::string& message) const { syntax_error(peek().line, message); }
  bool is(TokenKind kind) const { return peek().kind == kind; }
  bool is_op(std::string_view text) const { return is(TokenKind::kOperator) && peek().text == text; }
  bool is_name(std::string_view text) const { return is(TokenKind::kName) && peek().text == text; }

  Token next() {
    const Token token = peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool accept_op(std::string_view text) {
    if (!is_op(text)) return false;
    next();
    return true;
  }
  bool accept_name(std::string_view text) {
    if (!is_name(text)) return false;
    next();
    return true;
  }
  void expect_op(std::string_view text) {
    if (!accept_op(text)) fail("expected '" + std::string(text) + "', actual '" + peek().text + "'");
  }
  void expect_name(std::string_view text) {
    if (!accept_name(text)) fail("expected '" + std::string(text) + "', actual '" + peek().text + "'");
  }
  std::string expect_any_name() {
    if (!is(TokenKind::kName)) fail("expected a name, actual '" + peek().text + "'");
    return next().text;
  }
  void expect_block_end() {
    if (!is(TokenKind::kBlockEnd)) fail("expected the end of the block, actual '" + peek().text + "'");
    next();
  }

  ExprPtr make(ExprKind kind, std::string name = {}) const {
    auto expr = std::make_unique<Expr>();
    expr->kind = kind;
    expr->line = peek().line;
    expr->name = std::move(name);
    return expr;
  }
  void adopt(Expr& parent, ExprPtr child) const {
    if (child) parent.height = std::max(parent.height, child->height + 1);
    if (parent.height > kMaxHeight) fail("nested too deep");
    parent.children.push_back(std::move(child));
  }
  std::unique_ptr<Stmt> make(StmtKind kind) const {
    auto stmt = std::make_unique<Stmt>();
    stmt->kind = kind;
    stmt->line = peek().line;
    return stmt;
  }

  // Up to a block that begins with one of `ends`, whose name is left to be read; or to the end of the source.
  Body statements(std::initializer_list<std::string_view> ends) {
    const Nested nested(*this);
    Body body;
    while (!is(TokenKind::kEnd)) {
      if (is(TokenKind::kData)) {
        auto stmt = make(StmtKind::kData);
        stmt->text = Text(next().text);
        body.push_back(std::move(stmt));
      } else if (is(TokenKind::kVariableBegin)) {
        next();
        auto stmt = make(StmtKind::kOutput);
        stmt->expr = tuple_or_expression();
        if (!is(TokenKind::kVariableEnd)) fail("expected '}}', actual '" + peek().text + "'");
        next();
        body.push_back(std::move(stmt));
      } else {
        next();
        for (const std::string_view end : ends) {
          if (is_name(end)) return body;
        }
        body.push_back(statement());
      }
    }
    if (ends.size() > 0) fail("expected '" + std::string(*(ends.end() - 1)) + "', actual the end of the template");
    return body;
  }

  std::unique_ptr<Stmt> statement() {
    const std::string word = expect_any_name();
    if (word == "if") return if_statement();
    if (word == "for") return for_statement();
    if (word == "set") return set_statement();
    if (word == "macro") return macro_statement();
    if (word == "call") return call_statement();
    if (word == "filter") return filter_statement();
    if (word == "with") return with_statement();
    if (word == "generation") return scope_statement("endgeneration");
    if (word == "autoescape") {
      expression();
      return scope_statement("endautoescape");
    }
    if (word == "break" || word == "continue") {
      auto stmt = make(word == "break" ? StmtKind::kBreak : StmtKind::kContinue);
      if (loop_depth_ == 0) fail("'" + word + "' outside a loop");
      expect_block_end();
      return stmt;
    }
    if (word == "do") {
      auto stmt = make(StmtKind::kDo);
      stmt->expr = tuple_or_expression();
      expect_block_end();
      return stmt;
    }
    fail("unknown statement '" + word + "'");
  }

  std::unique_ptr<Stmt> scope_statement(std::string_view end) {
    auto stmt = make(StmtKind::kScope);
    expect_block_end();
    stmt->body = statements({end});
    expect_name(end);
    expect_block_end();
    return stmt;
  }

  std::unique_ptr<Stmt> if_statement() {
    const Nested nested(*this);
    auto stmt = make(StmtKind::kIf);
    stmt->expr = tuple_or_expression();
    expect_block_end();
    stmt->body = statements({"elif", "else", "endif"});
    if (accept_name("elif")) {
      stmt->orelse.push_back(if_statement());
      return stmt;
    }
    if (accept_name("else")) {
      expect_block_end();
      stmt->orelse = statements({"endif"});
    }
    expect_name("endif");
    expect_block_end();
    return stmt;
  }

  std::unique_ptr<Stmt> for_statement() {
    auto stmt = make(StmtKind::kFor);
    stmt->target = target();
    expect_name("in");
    stmt->expr = tuple_or_expression(false);
    if (accept_name("if")) stmt->condition = expression();
    stmt->is_recursive = accept_name("recursive");
    expect_block_end();
    ++loop_depth_;
    stmt->body = statements({"else", "endfor"});
    --loop_depth_;
    if (accept_name("else")) {
      expect_block_end();
      stmt->orelse = statements({"endfor"});
    }
    expect_name("endfor");
    expect_block_end();
    return stmt;
  }

  // name, ns.attribute, or several of them with commas or in brackets
  ExprPtr target() {
    const bool in_brackets = accept_op("(");
    std::vector<ExprPtr> names;
    bool is_tuple = in_brackets;
    do {
      if (in_brackets && is_op(")")) break;
      names.push_back(is_op("(") ? target() : single_target());
      is_tuple |= is_op(",");
    } while (accept_op(",") && (is(TokenKind::kName) || is_op("(") || in_brackets));
    if (in_brackets) expect_op(")");
    if (!is_tuple || (names.size() == 1 && in_brackets)) return std::move(names.front());
    auto tuple = make(ExprKind::kTuple);
    tuple->children = std::move(names);
    return tuple;
  }

  ExprPtr single_target() {
    auto name = make(ExprKind::kName, expect_any_name());
    if (!accept_op(".")) return name;
    auto attribute = make(ExprKind::kAttribute, expect_any_name());
    adopt(*attribute, std::move(name));
    return attribute;
  }

  std::unique_ptr<Stmt> set_statement() {
    auto stmt = make(StmtKind::kSet);
    stmt->target = target();
    if (accept_op("=")) {
      stmt->expr = tuple_or_expression();
      expect_block_end();
      return stmt;
    }
    stmt->kind = StmtKind::kSetBlock;
    if (accept_op("|")) stmt->expr = filter_chain();
    expect_block_end();
    stmt->body = statements({"endset"});
    expect_name("endset");
    expect_block_end();
    return stmt;
  }

  std::vector<Parameter> parameters() {
    std::vector<Parameter> list;
    expect_op("(");
    while (!is_op(")")) {
      Parameter parameter;
      parameter.name = expect_any_name();
      if (accept_op("=")) parameter.default_value = expression();
      list.push_back(std::move(parameter));
      if (!accept_op(",")) break;
    }
    expect_op(")");
    return list;
  }

  // What a macro encloses is not in the loop around it.
  Body macro_body(std::string_view end) {
    const int loops = std::exchange(loop_depth_, 0);
    expect_block_end();
    Body body = statements({end});
    expect_name(end);
    if (is(TokenKind::kName)) next();
    expect_block_end();
    loop_depth_ = loops;
    return body;
  }

  std::unique_ptr<Stmt> macro_statement() {
    auto stmt = make(StmtKind::kMacro);
    stmt->text = Text(expect_any_name());
    stmt->parameters = parameters();
    stmt->body = macro_body("endmacro");
    return stmt;
  }

  std::unique_ptr<Stmt> call_statement() {
    auto stmt = make(StmtKind::kCallBlock);
    if (is_op("(")) stmt->parameters = parameters();
    stmt->expr = postfix();
    if (stmt->expr->kind != ExprKind::kCall) fail("expected a call");
    stmt->body = macro_body("endcall");
    return stmt;
  }

  std::unique_ptr<Stmt> filter_statement() {
    auto stmt = make(StmtKind::kFilterBlock);
    stmt->expr = filter_chain();
    expect_block_end();
    stmt->body = statements({"endfilter"});
    expect_name("endfilter");
    expect_block_end();
    return stmt;
  }

  std::unique_ptr<Stmt> with_statement() {
    auto stmt = make(StmtKind::kWith);
    while (!is(TokenKind::kBlockEnd)) {
      auto name = target();
      expect_op("=");
      stmt->bindings.emplace_back(std::move(name), expression());
      if (!accept_op(",")) break;
    }
    expect_block_end();
    stmt->body = statements({"endwith"});
    expect_name("endwith");
    expect_block_end();
    return stmt;
  }

  // name(args) | name(args) ..., applied to what a block encloses
  ExprPtr filter_chain() {
    ExprPtr chain;
    do {
      chain = filter_call(std::move(chain));
    } while (accept_op("|"));
    return chain;
  }

  ExprPtr filter_call(ExprPtr input) {
    auto filter = make(ExprKind::kFilter, dotted_name());
    adopt(*filter, std::move(input));
    if (accept_op("(")) filter->args = call_args();
    return filter;
  }

  std::string dotted_name() {
    std::string name = expect_any_name();
    while (accept_op(".")) name += "." + expect_any_name();
    return name;
  }

  // After the opening bracket.
  CallArgs call_args() {
    CallArgs args;
    while (!is_op(")")) {
      if (accept_op("**")) {
        args.double_star = expression();
      } else if (accept_op("*")) {
        args.star = expression();
      } else if (is(TokenKind::kName) && peek(1).kind == TokenKind::kOperator && peek(1).text == "=") {
        std::string name = next().text;
        next();
        args.named.emplace_back(std::move(name), expression());
      } else {
        if (!args.named.empty()) fail("a positional argument after a named one");
        args.positional.push_back(expression());
      }
      if (!accept_op(",")) break;
    }
    expect_op(")");
    return args;
  }

  // A tuple needs no brackets: {% for x in 1, 2 %}. `with_condition`: "x if y" belongs to the expression.
  ExprPtr tuple_or_expression(bool with_condition = true) {
    auto first = with_condition ? expression() : disjunction();
    if (!is_op(",")) return first;
    auto tuple = make(ExprKind::kTuple);
    adopt(*tuple, std::move(first));
    while (accept_op(",")) {
      if (is(TokenKind::kBlockEnd) || is(TokenKind::kVariableEnd)) break;
      adopt(*tuple, with_condition ? expression() : disjunction());
    }
    return tuple;
  }

  ExprPtr expression() {
    const Nested nested(*this);
    auto expr = disjunction();
    while (accept_name("if")) {
      auto condition = make(ExprKind::kCondition);
      adopt(*condition, std::move(expr));
      adopt(*condition, disjunction());
      adopt(*condition, accept_name("else") ? expression() : nullptr);
      expr = std::move(condition);
    }
    return expr;
  }

  ExprPtr binary(std::string op, ExprPtr left, ExprPtr right) {
    auto expr = make(ExprKind::kBinary, std::move(op));
    adopt(*expr, std::move(left));
    adopt(*expr, std::move(right));
    return expr;
  }

  ExprPtr disjunction() {
    auto expr = conjunction();
    while (accept_name("or")) expr = binary("or", std::move(expr), conjunction());
    return expr;
  }

  ExprPtr conjunction() {
    auto expr = negation();
    while (accept_name("and")) expr = binary("and", std::move(expr), negation());
    return expr;
  }

  ExprPtr negation() {
    const Nested nested(*this);
    if (!accept_name("not")) return comparison();
    auto expr = make(ExprKind::kUnary, "not");
    adopt(*expr, negation());
    return expr;
  }

  std::string comparison_operator() {
    for (const std::string_view op : {"==", "!=", "<=", ">=", "<", ">"}) {
      if (accept_op(op)) return std::string(op);
    }
    if (accept_name("in")) return "in";
    if (is_name("not") && peek(1).kind == TokenKind::kName && peek(1).text == "in") {
      next();
      next();
      return "not in";
    }
    return {};
  }

  ExprPtr comparison() {
    auto first = sum();
    ExprPtr chain;
    for (std::string op = comparison_operator(); !op.empty(); op = comparison_operator()) {
      if (!chain) {
        chain = make(ExprKind::kCompare);
        adopt(*chain, std::move(first));
      }
      chain->operators.push_back(std::move(op));
      adopt(*chain, sum());
    }
    return chain ? std::move(chain) : std::move(first);
  }

  ExprPtr sum() {
    auto expr = concatenation();
    while (is_op("+") || is_op("-")) {
      std::string op = next().text;
      expr = binary(std::move(op), std::move(expr), concatenation());
    }
    return expr;
  }

  ExprPtr concatenation() {
    auto expr = product();
    while (accept_op("~")) expr = binary("~", std::move(expr), product());
    return expr;
  }

  ExprPtr product() {
    auto expr = power();
    while (is_op("*") || is_op("/") || is_op("//") || is_op("%")) {
      std::string op = next().text;
      expr = binary(std::move(op), std::move(expr), power());
    }
    return expr;
  }

  // Unlike Python's, Jinja's power binds less than a sign, and to the left.
  ExprPtr power() {
    auto expr = unary();
    while (accept_op("**")) expr = binary("**", std::move(expr), unary());
    return expr;
  }

  ExprPtr unary(bool with_filters = true) {
    const Nested nested(*this);
    ExprPtr expr;
    if (is_op("-") || is_op("+")) {
      expr = make(ExprKind::kUnary, next().text);
      adopt(*expr, unary(false));
    } else {
      expr = postfix();
    }
    return with_filters ? filters_and_tests(std::move(expr)) : std::move(expr);
  }

  ExprPtr filters_and_tests(ExprPtr expr) {
    while (true) {
      if (accept_op("|")) {
        expr = filter_call(std::move(expr));
      } else if (accept_name("is")) {
        expr = test(std::move(expr));
      } else if (is_op("(")) {
        expr = call(std::move(expr));
      } else {
        return expr;
      }
    }
  }

  ExprPtr test(ExprPtr subject) {
    const bool negated = accept_name("not");
    auto expr = make(ExprKind::kTest, dotted_name());
    adopt(*expr, std::move(subject));
    if (accept_op("(")) {
      expr->args = call_args();
    } else if (starts_test_argument()) {
      expr->args.positional.push_back(postfix());
    }
    if (!negated) return expr;
    auto negation = make(ExprKind::kUnary, "not");
    adopt(*negation, std::move(expr));
    return negation;
  }

  // "x is divisibleby 3": an argument without brackets.
  bool starts_test_argument() const {
    if (is(TokenKind::kString) || is(TokenKind::kInteger) || is(TokenKind::kFloat) || is_op("[") || is_op("{"))
      return true;
    if (!is(TokenKind::kName)) return false;
    for (const std::string_view word : {"else", "or", "and", "if", "is", "in", "not", "recursive"}) {
      if (is_name(word)) return false;
    }
    return true;
  }

  ExprPtr postfix() {
    auto expr = primary();
    while (true) {
      if (accept_op(".")) {
        if (is(TokenKind::kInteger)) {
          auto item = make(ExprKind::kItem);
          adopt(*item, std::move(expr));
          adopt(*item, number());
          expr = std::move(item);
          continue;
        }
        auto attribute = make(ExprKind::kAttribute, expect_any_name());
        adopt(*attribute, std::move(expr));
        expr = std::move(attribute);
      } else if (accept_op("[")) {
        expr = subscript(std::move(expr));
      } else if (is_op("(")) {
        expr = call(std::move(expr));
      } else {
        return expr;
      }
    }
  }

  ExprPtr call(ExprPtr callee) {
    expect_op("(");
    auto expr = make(ExprKind::kCall);
    adopt(*expr, std::move(callee));
    expr->args = call_args();
    return expr;
  }

  ExprPtr subscript(ExprPtr object) {
    ExprPtr bounds[3];
    bool is_slice = false;
    if (!is_op(":")) bounds[0] = tuple_or_expression();
    for (int i = 1; i < 3 && accept_op(":"); ++i) {
      is_slice = true;
      if (!is_op(":") && !is_op("]")) bounds[i] = expression();
    }
    expect_op("]");
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
    const Token token = next();
    if (token.kind == TokenKind::kInteger) {
      int64_t value = 0;
      const auto result = std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
      if (result.ec != std::errc{}) fail("the number " + token.text + " is too large");
      return literal(value);
    }
    double value = 0;
    std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
    return literal(value);
  }

  ExprPtr primary() {
    const Nested nested(*this);
    if (is(TokenKind::kInteger) || is(TokenKind::kFloat)) return number();
    if (is(TokenKind::kString)) {
      std::string text = next().text;
      while (is(TokenKind::kString)) text += next().text;
      return literal(std::move(text));
    }
    if (is(TokenKind::kName)) return name();
    if (accept_op("(")) return bracketed();
    if (accept_op("[")) return list();
    if (accept_op("{")) return dict();
    fail("expected an expression, actual '" + peek().text + "'");
  }

  ExprPtr name() {
    const std::string word = next().text;
    if (word == "true" || word == "True") return literal(true);
    if (word == "false" || word == "False") return literal(false);
    if (word == "none" || word == "None") return literal(None{});
    return make(ExprKind::kName, word);
  }

  ExprPtr bracketed() {
    if (accept_op(")")) return make(ExprKind::kTuple);
    auto first = expression();
    if (!is_op(",")) {
      expect_op(")");
      return first;
    }
    auto tuple = make(ExprKind::kTuple);
    adopt(*tuple, std::move(first));
    while (accept_op(",") && !is_op(")")) adopt(*tuple, expression());
    expect_op(")");
    return tuple;
  }

  ExprPtr list() {
    auto expr = make(ExprKind::kList);
    while (!is_op("]")) {
      adopt(*expr, expression());
      if (!accept_op(",")) break;
    }
    expect_op("]");
    return expr;
  }

  ExprPtr dict() {
    auto expr = make(ExprKind::kDict);
    while (!is_op("}")) {
      adopt(*expr, expression());
      expect_op(":");
      adopt(*expr, expression());
      if (!accept_op(",")) break;
    }
    expect_op("}");
    return expr;
  }

  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
  int loop_depth_ = 0;
};

}  // namespace

Body parse(std::string_view source) {
  return Parser(source).run();
}

}  // namespace realizar::text::jinja
