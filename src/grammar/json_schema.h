// JSON Schema (draft 2020-12) as a grammar. README.md lists what of it is built, and where a grammar is narrower or
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
  std::string root = "#";  // the place of the schema that documents must satisfy; it may refer to any other
  bool relaxed = false;    // what is not built is left out, so that the grammar is wider than the schema
  std::string name = "";   // of the schema, before the places that RuleSet::left_out lists
};

// Adds rules whose sentences are JSON documents of the schema to a larger grammar; gives a call of the first. Errors:
// InvalidArgument for text that is not JSON, keywords with values of the wrong type and schemas that no document
// satisfies; Unsupported for keywords and combinations that are not built, unless they are relaxed. The message names
// the keyword, `subject` is its place, e.g. "#/properties/age/multipleOf".
Result<ExprId> add_json_schema(RuleBook& book, std::string_view schema_json, const Limits& limits = {},
                               const SchemaOptions& options = {});

// The same as a grammar of its own, with the places in the schema that its rules are made of, where rules may refer to
// each other.
struct SchemaRules {
  RuleSet rules;
  std::unordered_map<std::string, std::string> place_of_rule;  // "root" -> "#"
};
Result<SchemaRules> compile_json_schema(std::string_view schema_json, const Limits& limits = {},
                                        const SchemaOptions& options = {});

// Adds rules of the strings that the schema allows as they are, without quotes and escapes, if they do not hold `mark`.
// Errors as above; Unsupported where the strings take too large an automaton, or none is without the mark.
Result<ExprId> add_schema_text(RuleBook& book, std::string_view schema_json, std::string_view mark,
                               const Limits& limits = {}, const SchemaOptions& options = {});

}  // namespace realizar::grammar
