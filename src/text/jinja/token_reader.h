// Reads tokens in order: checks the next one, and requires certain ones.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/ast.h"
#include "text/jinja/lexer.h"

namespace realizar::text::jinja {

class TokenReader {
 public:
  // Throws TemplateError with the line, like all functions here.
  explicit TokenReader(std::string_view source) : tokens_(tokenize(source)) {}

  // Counts nesting while it exists, so that no source overflows the stack.
  class Nested {
   public:
    explicit Nested(TokenReader& reader) : reader_(reader) {
      if (++reader_.depth_ > kMaxDepth) reader_.fail("nested too deep");
    }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;
    ~Nested() { --reader_.depth_; }

   private:
    TokenReader& reader_;
  };

  const Token& peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  uint32_t line() const { return peek().line; }
  [[noreturn]] void fail(const std::string& message) const { syntax_error(line(), message); }
  [[noreturn]] void fail_expected(const std::string& what) const {
    fail("expected " + what + ", actual '" + peek().text + "'");
  }
  bool is(TokenKind kind) const { return peek().kind == kind; }
  bool is_op(std::string_view text, size_t ahead = 0) const { return is_word(TokenKind::kOperator, text, ahead); }
  bool is_name(std::string_view text, size_t ahead = 0) const { return is_word(TokenKind::kName, text, ahead); }

  Token next() {
    const Token token = peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool accept_op(std::string_view text) { return accept(TokenKind::kOperator, text); }
  bool accept_name(std::string_view text) { return accept(TokenKind::kName, text); }
  void expect_op(std::string_view text) {
    if (!accept_op(text)) fail_expected("'" + std::string(text) + "'");
  }
  void expect_name(std::string_view text) {
    if (!accept_name(text)) fail_expected("'" + std::string(text) + "'");
  }
  std::string expect_any_name() {
    if (!is(TokenKind::kName)) fail_expected("a name");
    return next().text;
  }
  void expect_block_end() {
    if (!is(TokenKind::kBlockEnd)) fail_expected("the end of the block");
    next();
  }

 private:
  static constexpr int kMaxDepth = 150;  // of nested expressions and statements combined

  bool is_word(TokenKind kind, std::string_view text, size_t ahead) const {
    return peek(ahead).kind == kind && peek(ahead).text == text;
  }
  bool accept(TokenKind kind, std::string_view text) {
    if (!is_word(kind, text, 0)) return false;
    next();
    return true;
  }

  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
};

// Parses expressions by recursive descent, with Jinja's precedences. Each function reads to the end of its expression
// and throws TemplateError with the line.
ExprPtr parse_expression(TokenReader& reader);
// A tuple needs no brackets: {% for x in 1, 2 %}. `with_condition`: "x if y" belongs to the expression.
ExprPtr parse_tuple_or_expression(TokenReader& reader, bool with_condition = true);
// The target of an assignment: name, ns.attribute, or several of them with commas or in brackets.
ExprPtr parse_target(TokenReader& reader);
// name(args) | name(args) ..., applied to the content of a block.
ExprPtr parse_filter_chain(TokenReader& reader);
// A name or literal with its attributes, items and calls.
ExprPtr parse_postfix(TokenReader& reader);

}  // namespace realizar::text::jinja
