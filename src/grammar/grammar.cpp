#include "grammar/grammar.h"

#include "grammar/gbnf_parser.h"
#include "grammar/json_schema.h"
#include "grammar/rule_analysis.h"

namespace realizar::grammar {

Result<std::shared_ptr<const Grammar>> Grammar::from_gbnf(std::string_view source, const Limits& limits) {
  const Deadline deadline(limits.compile_timeout_ms);
  RZ_TRY(const RuleSet rules, parse_gbnf(source, limits));
  RZ_TRY(const RuleAnalysis analysis, analyze_rules(rules, deadline));
  RZ_TRY(Automaton automaton, build_automaton(rules, analysis, limits, deadline));
  return std::shared_ptr<const Grammar>(std::make_shared<Grammar>(std::move(automaton)));
}

Result<std::shared_ptr<const Grammar>> Grammar::from_json_schema(std::string_view schema_json, const Limits& limits) {
  RZ_TRY(const std::string gbnf, json_schema_to_gbnf(schema_json, limits));
  Limits derived = limits;
  derived.max_source_bytes = std::max(limits.max_source_bytes, gbnf.size());
  return from_gbnf(gbnf, derived);
}

Result<std::shared_ptr<const Grammar>> Grammar::any_json_object(const Limits& limits) {
  return from_json_schema(R"({"type": "object"})", limits);
}

}  // namespace realizar::grammar
