#include "grammar/schema/compiler.h"

#include "base/try.h"

namespace realizar::grammar {

Status SchemaCompiler::run() {
  std::string impossible;  // path of the first one
  while (const auto open = references_.take_open()) {
    RZ_TRY(const Json* target, context_.document().resolve(open->ref, open->ref, context_.left_out()));
    RZ_TRY(const ValueExpr body, values_.value(*target, open->ref));
    if (!body && impossible.empty()) impossible = open->ref;
    book_.define(open->rule, body ? *body : book_.nothing());
  }
  const bool has_impossible = values_.has_impossible() || !impossible.empty();
  if (!has_impossible || book_.remove_impossible(root_)) return {};
  if (impossible.empty()) impossible = root_ref_;
  return invalid_argument(impossible + ": no document satisfies this schema", impossible);
}

Result<ExprId> SchemaCompiler::text_without(std::string_view mark) {
  RZ_TRY(const Json* schema, context_.document().resolve(root_ref_, root_ref_, context_.left_out()));
  return values_.strings().text_without(*schema, root_ref_, mark);
}

}  // namespace realizar::grammar
