#include "text/jinja/ast.h"

#include <initializer_list>
#include <utility>

#include "text/jinja/token_reader.h"

namespace realizar::text::jinja {
namespace {

using Nested = TokenReader::Nested;

class Parser {
 public:
  explicit Parser(std::string_view source) : reader_(source) {}

  Body run() { return statements({}); }

 private:
  std::unique_ptr<Stmt> make(StmtKind kind) const {
    auto stmt = std::make_unique<Stmt>();
    stmt->kind = kind;
    stmt->line = reader_.line();
    return stmt;
  }

  // Parses up to a block that begins with one of `ends`, whose name is not read; or to the end of the source.
  Body statements(std::initializer_list<std::string_view> ends) {
    const Nested nested(reader_);
    Body body;
    while (!reader_.is(TokenKind::kEnd)) {
      if (reader_.is(TokenKind::kData)) {
        auto stmt = make(StmtKind::kData);
        stmt->text = Text(reader_.next().text);
        body.push_back(std::move(stmt));
      } else if (reader_.is(TokenKind::kVariableBegin)) {
        reader_.next();
        auto stmt = make(StmtKind::kOutput);
        stmt->expr = parse_tuple_or_expression(reader_);
        if (!reader_.is(TokenKind::kVariableEnd)) reader_.fail_expected("'}}'");
        reader_.next();
        body.push_back(std::move(stmt));
      } else {
        reader_.next();
        for (const std::string_view end : ends) {
          if (reader_.is_name(end)) return body;
        }
        body.push_back(statement());
      }
    }
    if (ends.size() > 0)
      reader_.fail("expected '" + std::string(*(ends.end() - 1)) + "', actual the end of the template");
    return body;
  }

  std::unique_ptr<Stmt> statement() {
    const std::string word = reader_.expect_any_name();
    if (word == "if") return if_statement();
    if (word == "for") return for_statement();
    if (word == "set") return set_statement();
    if (word == "macro") return macro_statement();
    if (word == "call") return call_statement();
    if (word == "filter") return filter_statement();
    if (word == "with") return with_statement();
    if (word == "generation") return scope_statement("endgeneration");
    if (word == "autoescape") {
      parse_expression(reader_);
      return scope_statement("endautoescape");
    }
    if (word == "break" || word == "continue") {
      auto stmt = make(word == "break" ? StmtKind::kBreak : StmtKind::kContinue);
      if (loop_depth_ == 0) reader_.fail("'" + word + "' outside a loop");
      reader_.expect_block_end();
      return stmt;
    }
    if (word == "do") {
      auto stmt = make(StmtKind::kDo);
      stmt->expr = parse_tuple_or_expression(reader_);
      reader_.expect_block_end();
      return stmt;
    }
    reader_.fail("unknown statement '" + word + "'");
  }

  void end_block(std::string_view end) {
    reader_.expect_name(end);
    reader_.expect_block_end();
  }

  // The rest of a block's first tag, its statements, and its last tag.
  Body block(std::string_view end) {
    reader_.expect_block_end();
    Body body = statements({end});
    end_block(end);
    return body;
  }

  std::unique_ptr<Stmt> scope_statement(std::string_view end) {
    auto stmt = make(StmtKind::kScope);
    stmt->body = block(end);
    return stmt;
  }

  std::unique_ptr<Stmt> if_statement() {
    const Nested nested(reader_);
    auto stmt = make(StmtKind::kIf);
    stmt->expr = parse_tuple_or_expression(reader_);
    reader_.expect_block_end();
    stmt->body = statements({"elif", "else", "endif"});
    if (reader_.accept_name("elif")) {
      stmt->orelse.push_back(if_statement());
      return stmt;
    }
    if (reader_.accept_name("else")) {
      reader_.expect_block_end();
      stmt->orelse = statements({"endif"});
    }
    end_block("endif");
    return stmt;
  }

  std::unique_ptr<Stmt> for_statement() {
    auto stmt = make(StmtKind::kFor);
    stmt->target = parse_target(reader_);
    reader_.expect_name("in");
    stmt->expr = parse_tuple_or_expression(reader_, false);
    if (reader_.accept_name("if")) stmt->condition = parse_expression(reader_);
    stmt->is_recursive = reader_.accept_name("recursive");
    reader_.expect_block_end();
    ++loop_depth_;
    stmt->body = statements({"else", "endfor"});
    --loop_depth_;
    if (reader_.accept_name("else")) {
      reader_.expect_block_end();
      stmt->orelse = statements({"endfor"});
    }
    end_block("endfor");
    return stmt;
  }

  std::unique_ptr<Stmt> set_statement() {
    auto stmt = make(StmtKind::kSet);
    stmt->target = parse_target(reader_);
    if (reader_.accept_op("=")) {
      stmt->expr = parse_tuple_or_expression(reader_);
      reader_.expect_block_end();
      return stmt;
    }
    stmt->kind = StmtKind::kSetBlock;
    if (reader_.accept_op("|")) stmt->expr = parse_filter_chain(reader_);
    stmt->body = block("endset");
    return stmt;
  }

  std::vector<Parameter> parameters() {
    std::vector<Parameter> list;
    reader_.expect_op("(");
    while (!reader_.is_op(")")) {
      Parameter parameter;
      parameter.name = reader_.expect_any_name();
      if (reader_.accept_op("=")) parameter.default_value = parse_expression(reader_);
      list.push_back(std::move(parameter));
      if (!reader_.accept_op(",")) break;
    }
    reader_.expect_op(")");
    return list;
  }

  // The body of a macro does not belong to the loop around it.
  Body macro_body(std::string_view end) {
    const int loops = std::exchange(loop_depth_, 0);
    reader_.expect_block_end();
    Body body = statements({end});
    reader_.expect_name(end);
    if (reader_.is(TokenKind::kName)) reader_.next();
    reader_.expect_block_end();
    loop_depth_ = loops;
    return body;
  }

  std::unique_ptr<Stmt> macro_statement() {
    auto stmt = make(StmtKind::kMacro);
    stmt->text = Text(reader_.expect_any_name());
    stmt->parameters = parameters();
    stmt->body = macro_body("endmacro");
    return stmt;
  }

  std::unique_ptr<Stmt> call_statement() {
    auto stmt = make(StmtKind::kCallBlock);
    if (reader_.is_op("(")) stmt->parameters = parameters();
    stmt->expr = parse_postfix(reader_);
    if (stmt->expr->kind != ExprKind::kCall) reader_.fail("expected a call");
    stmt->body = macro_body("endcall");
    return stmt;
  }

  std::unique_ptr<Stmt> filter_statement() {
    auto stmt = make(StmtKind::kFilterBlock);
    stmt->expr = parse_filter_chain(reader_);
    stmt->body = block("endfilter");
    return stmt;
  }

  std::unique_ptr<Stmt> with_statement() {
    auto stmt = make(StmtKind::kWith);
    while (!reader_.is(TokenKind::kBlockEnd)) {
      auto name = parse_target(reader_);
      reader_.expect_op("=");
      stmt->bindings.emplace_back(std::move(name), parse_expression(reader_));
      if (!reader_.accept_op(",")) break;
    }
    stmt->body = block("endwith");
    return stmt;
  }

  TokenReader reader_;
  int loop_depth_ = 0;
};

}  // namespace

Body parse(std::string_view source) {
  return Parser(source).run();
}

}  // namespace realizar::text::jinja
