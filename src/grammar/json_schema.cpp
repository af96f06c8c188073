#include "grammar/json_schema.h"

#include <utility>

#include "base/try.h"
#include "grammar/schema/compiler.h"

namespace realizar::grammar {

Result<SchemaRules> compile_json_schema(std::string_view schema_json, const Limits& limits,
                                        const SchemaOptions& options) {
  RZ_TRY(const SchemaDocument document, SchemaDocument::parse(schema_json, limits));
  RuleBook book;
  const RuleId root = book.named("root");
  SchemaCompiler compiler(document, limits, options, book, root);
  RZ_CHECK_OK(compiler.run());
  for (const std::string& path : compiler.left_out()) book.add_left_out(options.name + path);
  auto paths = compiler.path_of_rule();
  return SchemaRules{book.take(root), std::move(paths)};
}

Result<ExprId> add_json_schema(RuleBook& book, std::string_view schema_json, const Limits& limits,
                               const SchemaOptions& options) {
  RZ_TRY(const SchemaDocument document, SchemaDocument::parse(schema_json, limits));
  const RuleId root = book.reserve("schema");
  SchemaCompiler compiler(document, limits, options, book, root);
  RZ_CHECK_OK(compiler.run());
  for (const std::string& path : compiler.left_out()) book.add_left_out(options.name + path);
  return book.call(root);
}

Result<ExprId> add_schema_text(RuleBook& book, std::string_view schema_json, std::string_view mark,
                               const Limits& limits, const SchemaOptions& options) {
  RZ_TRY(const SchemaDocument document, SchemaDocument::parse(schema_json, limits));
  const RuleId root = book.reserve("text");
  SchemaCompiler compiler(document, limits, options, book, root);
  const auto text = compiler.text_without(mark);
  book.define(root, text.ok() ? *text : book.literal(""));  // not called after an error
  if (!text.ok()) return text;
  for (const std::string& path : compiler.left_out()) book.add_left_out(options.name + path);
  return book.call(root);
}

}  // namespace realizar::grammar
