#include "realizar/constraint.h"

#include "api/grammar_constraint.h"
#include "api/language_model.h"
#include "base/try.h"
#include "text/answer.h"
#include "text/output/required_calls.h"

namespace realizar {
namespace {

using Compiled = Result<std::shared_ptr<const grammar::Grammar>>;

Result<std::shared_ptr<TokenConstraint>> constraint_of(const LoadedModel& loaded,
                                                       Result<std::shared_ptr<grammar::MaskCache>> grammar,
                                                       const ConstraintOptions& options) {
  if (!grammar.ok()) return std::move(grammar).error();
  text::GrammarStart start;
  if (!options.prompt.empty()) {
    text::AnswerOptions parts;
    text::detect_parts(parts, *loaded.tokenizer, loaded.output_format, options.prompt);
    start = text::grammar_start(*parts.format, parts.starts_in_reasoning);
  }
  return make_constraint(std::move(*grammar), *loaded.tokenizer, loaded.generation_config.end_tokens, start);
}

std::vector<text::RequiredTool> required(const std::vector<text::ToolSpec>& tools) {
  std::vector<text::RequiredTool> all;
  for (const text::ToolSpec& tool : tools) all.push_back({&tool, tool.name + ".function.parameters", false});
  return all;
}

}  // namespace

Result<std::shared_ptr<TokenConstraint>> json_schema_constraint(const LanguageModel& model,
                                                                const std::string& schema_json,
                                                                const ConstraintOptions& options) {
  const LoadedModel& loaded = *LanguageModel::Impl::of(model).loaded;
  RZ_CHECK_OK(loaded.require_tokenizer());
  return constraint_of(loaded, loaded.grammars->from_schema(schema_json, options.relaxed), options);
}

Result<std::shared_ptr<TokenConstraint>> gbnf_constraint(const LanguageModel& model, const std::string& gbnf,
                                                         const ConstraintOptions& options) {
  const LoadedModel& loaded = *LanguageModel::Impl::of(model).loaded;
  RZ_CHECK_OK(loaded.require_tokenizer());
  return constraint_of(loaded, loaded.grammars->from_gbnf(gbnf), options);
}

Result<std::shared_ptr<TokenConstraint>> tool_calls_constraint(const LanguageModel& model,
                                                               const std::string& tools_json,
                                                               const ToolCallOptions& options) {
  const LoadedModel& loaded = *LanguageModel::Impl::of(model).loaded;
  RZ_CHECK_OK(loaded.require_tokenizer());
  text::AnswerOptions parts;
  RZ_TRY(parts.tools, text::read_tool_specs(tools_json));
  if (parts.tools.empty()) return invalid_argument("tools: there is no function that could be called", "tools");
  text::detect_parts(parts, *loaded.tokenizer, loaded.output_format, options.prompt);
  if (!parts.format->calls) return unsupported("tools: the model has no chat template to describe them", "tools");
  const std::string key = "calls " + std::to_string(options.parallel) + " " + tools_json;
  RZ_TRY(auto grammar, loaded.grammars->find_or_compile(key, [&]() -> Compiled {
    RZ_TRY(const grammar::RuleSet rules,
           text::required_calls(*parts.format->calls, required(parts.tools), options.parallel));
    return grammar::Grammar::from_rules(rules);
  }));
  return make_constraint(std::move(grammar), *loaded.tokenizer, loaded.generation_config.end_tokens,
                         text::required_calls_start(*parts.format, parts.starts_in_reasoning));
}

}  // namespace realizar
