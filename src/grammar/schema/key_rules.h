// Keys of objects that the schema does not name.
#pragma once

#include <string>
#include <vector>

#include "grammar/regular.h"
#include "grammar/schema/context.h"
#include "grammar/schema/finite_values.h"
#include "grammar/schema/string_language.h"

namespace realizar::grammar {

class KeyRules {
 public:
  KeyRules(SchemaContext& context, StringLanguage& languages, FiniteValues& finite_values)
      : context_(context), book_(context.book()), languages_(languages), finite_values_(finite_values) {}

  // A key that is none of `names` and satisfies propertyNames; nullopt if there is none.
  Result<ValueExpr> other_key(const Json& schema, const std::vector<std::string>& names, const std::string& path);
  // These keys as a language, and the rule for a language.
  Result<TermId> other_keys(Terms& terms, const Json& schema, const std::vector<std::string>& names,
                            const std::string& path);
  ValueExpr key_of(const TextMachine& machine);
  // The schema with only those named properties that satisfy propertyNames; others are false. If the names are listed
  // and nothing counts them, each becomes a named property, which occurs at most once.
  Result<Json> with_allowed_names(const Json& schema, const std::string& path);

  static Error too_large(const std::string& path, const char* keyword);

 private:
  Result<ExprId> key_apart_from(const std::vector<std::string>& names);

  SchemaContext& context_;
  RuleBook& book_;
  StringLanguage& languages_;
  FiniteValues& finite_values_;
};

}  // namespace realizar::grammar
