// A compiled grammar: the texts that may be generated. Immutable, shared between threads and sequences.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/automaton.h"
#include "grammar/expression.h"
#include "grammar/json_schema.h"
#include "grammar/limits.h"
#include "realizar/result.h"

namespace realizar::grammar {

class Grammar {
 public:
  // Errors: InvalidArgument for rules that are used but not defined, left-recursive or never end, and beyond `limits`.
  static Result<std::shared_ptr<const Grammar>> from_rules(const RuleSet& rules, const Limits& limits = {});
  // Compiles GBNF (gbnf_parser.h). Errors: InvalidArgument with line, column and rule, or beyond `limits`.
  static Result<std::shared_ptr<const Grammar>> from_gbnf(std::string_view source, const Limits& limits = {});
  // Compiles a JSON Schema (json_schema.h). Errors: as there; errors in the grammar that is made from it refer to the
  // schema.
  static Result<std::shared_ptr<const Grammar>> from_json_schema(std::string_view schema_json,
                                                                 const Limits& limits = {},
                                                                 const SchemaOptions& options = {});
  // Any JSON object.
  static Result<std::shared_ptr<const Grammar>> any_json_object(const Limits& limits = {});

  explicit Grammar(Automaton automaton, std::vector<std::string> left_out = {})
      : automaton_(std::move(automaton)), left_out_(std::move(left_out)) {}
  const Automaton& automaton() const { return automaton_; }
  // See RuleSet.
  const std::vector<std::string>& left_out() const { return left_out_; }

 private:
  Automaton automaton_;
  std::vector<std::string> left_out_;
};

}  // namespace realizar::grammar
