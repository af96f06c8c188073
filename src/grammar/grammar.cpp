#include "grammar/grammar.h"

#include <fmt/format.h>

#include "base/try.h"
#include "grammar/gbnf_parser.h"
#include "grammar/rule_analysis.h"

namespace realizar::grammar {

namespace {

// The author of a schema does not know the lines and rules of the grammar that is made from it.
Error of_schema(const SchemaRules& made, const Error& error) {
  if (error.subject == kLimitSubject) return invalid_argument("the schema is too large: " + error.message, "#");
  const auto rule = made.path_of_rule.find(error.subject);
  const std::string path = rule == made.path_of_rule.end() ? "#" : rule->second;
  return invalid_argument(path + ": no finite document satisfies this schema: it leads back to itself", path);
}

}  // namespace

Result<std::shared_ptr<const Grammar>> Grammar::from_rules(const RuleSet& rules, const Limits& limits) {
  const Deadline deadline(limits.compile_timeout_ms);
  if (rules.rules.size() > limits.max_rules) {
    return limit_exceeded(fmt::format("the grammar has more than {} rules", limits.max_rules));
  }
  RZ_TRY(const RuleAnalysis analysis, analyze_rules(rules, deadline));
  RZ_TRY(Automaton automaton, build_automaton(rules, analysis, limits, deadline));
  return std::shared_ptr<const Grammar>(std::make_shared<Grammar>(std::move(automaton), rules.left_out));
}

Result<std::shared_ptr<const Grammar>> Grammar::from_gbnf(std::string_view source, const Limits& limits) {
  RZ_TRY(const RuleSet rules, parse_gbnf(source, limits));
  return from_rules(rules, limits);
}

Result<std::shared_ptr<const Grammar>> Grammar::from_json_schema(std::string_view schema_json, const Limits& limits,
                                                                 const SchemaOptions& options) {
  RZ_TRY(const SchemaRules made, compile_json_schema(schema_json, limits, options));
  auto grammar = from_rules(made.rules, limits);
  if (grammar.ok()) return grammar;
  return of_schema(made, grammar.error());
}

Result<std::shared_ptr<const Grammar>> Grammar::any_json_object(const Limits& limits) {
  return from_json_schema(R"({"type": "object"})", limits);
}

}  // namespace realizar::grammar
