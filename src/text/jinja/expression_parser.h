// Parses expressions by recursive descent, with Jinja's precedences. Each function reads to the end of its expression
// and throws TemplateError with the line.
#pragma once

#include "text/jinja/ast.h"
#include "text/jinja/token_reader.h"

namespace realizar::text::jinja {

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
