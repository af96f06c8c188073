// Compiles a schema to rules: its root, then every referenced schema.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "grammar/json_schema.h"
#include "grammar/schema/context.h"
#include "grammar/schema/references.h"
#include "grammar/schema/value_rules.h"

namespace realizar::grammar {

class SchemaCompiler {
 public:
  // Adds its rules to `book`; `root` is the rule that all documents satisfy.
  SchemaCompiler(const SchemaDocument& document, const Limits& limits, const SchemaOptions& options, RuleBook& book,
                 RuleId root)
      : context_(document, limits, options.relaxed, book),
        book_(book),
        root_(root),
        root_ref_(options.root),
        references_(book, options.root, root),
        values_(context_, references_) {}

  Status run();
  // The unescaped strings that the root allows and that do not contain `mark`.
  Result<ExprId> text_without(std::string_view mark);
  // Paths in the schema of rules that others may reference.
  std::unordered_map<std::string, std::string> path_of_rule() const { return references_.path_of_rule(); }
  // Paths of the keywords that a relaxed grammar does not enforce.
  const std::vector<std::string>& left_out() { return context_.left_out().paths(); }

 private:
  SchemaContext context_;
  RuleBook& book_;
  RuleId root_;
  std::string root_ref_;
  SchemaReferences references_;
  ValueRules values_;
};

}  // namespace realizar::grammar
