// From a schema to rules: its root, then every schema to which another one refers.
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
  // Adds its rules to `book`; `root` is the one that all documents satisfy.
  SchemaCompiler(const SchemaDocument& document, const Limits& limits, const SchemaOptions& options, RuleBook& book,
                 RuleId root)
      : context_(document, limits, options.relaxed, book),
        book_(book),
        root_(root),
        root_ref_(options.root),
        references_(book, options.root, root),
        values_(context_, references_) {}

  Status run();
  // The strings that the root allows and that do not hold `mark`, unescaped.
  Result<ExprId> text_without(std::string_view mark);
  // The places in the schema of the rules to which others may refer.
  std::unordered_map<std::string, std::string> place_of_rule() const { return references_.place_of_rule(); }
  // The places of the keywords that a relaxed grammar does not hold.
  const std::vector<std::string>& left_out() { return context_.left_out().places(); }

 private:
  SchemaContext context_;
  RuleBook& book_;
  RuleId root_;
  std::string root_ref_;
  SchemaReferences references_;
  ValueRules values_;
};

}  // namespace realizar::grammar
