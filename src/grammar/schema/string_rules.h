// Strings: as rules for single keywords, as automata for combinations.
#pragma once

#include <string>
#include <string_view>

#include "grammar/schema/context.h"
#include "grammar/schema/string_language.h"

namespace realizar::grammar {

class StringRules {
 public:
  StringRules(SchemaContext& context, StringLanguage& languages)
      : context_(context), book_(context.book()), languages_(languages) {}

  Result<ValueExpr> string(const Json& schema, const std::string& path);
  // The strings that do not contain `mark`, without quotes and escapes.
  Result<ExprId> text_without(const Json& schema, const std::string& path, std::string_view mark);

 private:
  // The text between the quotes.
  Result<ValueExpr> inside_string(const Json& schema, const std::string& path);
  Result<ValueExpr> relaxed_inside_string(const Json& schema, const std::string& path);
  Result<ValueExpr> machine_of_strings(const Json& schema, const std::string& path);

  SchemaContext& context_;
  RuleBook& book_;
  StringLanguage& languages_;
};

}  // namespace realizar::grammar
