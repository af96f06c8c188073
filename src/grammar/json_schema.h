// JSON Schema (draft 2020-12) as a grammar. README.md lists what of it is built, and where a grammar is narrower or
// wider than the schema.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "grammar/limits.h"
#include "realizar/result.h"

namespace realizar::grammar {

class RuleBook;

struct SchemaOptions {
  std::string root = "#";  // the place of the schema that documents must satisfy; it may refer to any other
  bool relaxed = false;    // what is not built is left out, so that the grammar is wider than the schema
};

// GBNF whose sentences are JSON documents of the schema. Errors: InvalidArgument for text that is not JSON, keywords
// with values of the wrong type and schemas that no document satisfies; Unsupported for keywords and combinations that
// are not built, unless they are relaxed. The message names the keyword, `subject` is its place, e.g.
// "#/properties/age/multipleOf".
Result<std::string> json_schema_to_gbnf(std::string_view schema_json, const Limits& limits = {},
                                        const SchemaOptions& options = {});

// The same among the rules of a larger grammar. Gives the name of the rule whose sentences the documents are.
Result<std::string> add_json_schema(RuleBook& book, std::string_view schema_json, const Limits& limits = {},
                                    const SchemaOptions& options = {});

// The same alone, with the places in the schema that its rules are made of, where rules may refer to each other.
struct SchemaGrammar {
  std::string gbnf;
  std::unordered_map<std::string, std::string> place_of_rule;  // "root" -> "#"
};
Result<SchemaGrammar> compile_json_schema(std::string_view schema_json, const Limits& limits = {},
                                          const SchemaOptions& options = {});

}  // namespace realizar::grammar
