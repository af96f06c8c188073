// JSON Schema (draft 2020-12) as a grammar. README.md lists the supported keywords, and where a grammar is narrower or
// wider than the schema.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "grammar/expression.h"
#include "grammar/limits.h"
#include "realizar/result.h"

namespace realizar::grammar {

class RuleBook;

struct SchemaOptions {
  std::string root = "#";  // path of the schema that documents must satisfy; it may refer to any other
  bool relaxed = false;    // unsupported keywords are left out, so that the grammar is wider than the schema
  std::string name = "";   // of the schema, a prefix for the paths in RuleSet::left_out
};

// Adds rules for the schema's JSON documents to a larger grammar; returns a call of the first. Errors: InvalidArgument
// for invalid JSON, keywords with values of the wrong type and schemas that no document satisfies; Unsupported for
// unsupported keywords and combinations, unless relaxed. The message names the keyword, `subject` is its path, e.g.
// "#/properties/age/multipleOf".
Result<ExprId> add_json_schema(RuleBook& book, std::string_view schema_json, const Limits& limits = {},
                               const SchemaOptions& options = {});

// The schema as a separate grammar, with the paths in the schema of rules that others may reference.
struct SchemaRules {
  RuleSet rules;
  std::unordered_map<std::string, std::string> path_of_rule;  // "root" -> "#"
};
Result<SchemaRules> compile_json_schema(std::string_view schema_json, const Limits& limits = {},
                                        const SchemaOptions& options = {});

// Adds rules for the unescaped, unquoted strings that the schema allows, if they do not contain `mark`. Errors as
// above; Unsupported if the strings' automaton is too large, or all contain the mark.
Result<ExprId> add_schema_text(RuleBook& book, std::string_view schema_json, std::string_view mark,
                               const Limits& limits = {}, const SchemaOptions& options = {});

}  // namespace realizar::grammar
