#include "realizar/constraint.h"

#include "api/language_model.h"
#include "base/try.h"
#include "text/answer.h"

namespace realizar {
namespace {

Result<std::shared_ptr<TokenConstraint>> constraint_of(const LoadedModel& loaded,
                                                       Result<std::shared_ptr<grammar::MaskCache>> grammar,
                                                       const ConstraintOptions& options) {
  if (!grammar.ok()) return std::move(grammar).error();
  text::GrammarStart start;
  if (!options.prompt.empty()) {
    text::AnswerOptions parts;
    text::detect_parts(parts, *loaded.tokenizer, loaded.template_source.source, options.prompt);
    start = text::grammar_start(*parts.format, parts.starts_in_reasoning);
  }
  return make_constraint(std::move(*grammar), *loaded.tokenizer, loaded.generation_config.end_tokens, start);
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

}  // namespace realizar
