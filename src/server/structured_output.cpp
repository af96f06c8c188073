#include "server/structured_output.h"

#include <nlohmann/json.hpp>

#include "server/answer_form.h"

namespace realizar::server {

Result<std::shared_ptr<grammar::MaskCache>> read_response_format(const Json& body, GrammarCache& grammars) {
  RZ_TRY(const AnswerForm form, read_answer_form(body));
  if (form.kind == AnswerForm::Kind::kFree) return std::shared_ptr<grammar::MaskCache>();
  const bool is_schema = form.kind == AnswerForm::Kind::kSchema;
  auto compiled = is_schema ? grammars.from_schema(form.source, !form.is_strict) : grammars.from_gbnf(form.source);
  if (compiled.ok()) return compiled;
  const Error& error = compiled.error();
  if (!is_schema) return invalid_argument(form.where + ": " + error.message, form.where);
  // The keyword's place in the schema, "#/properties/...", after the schema's in the body.
  const bool has_place = error.subject.starts_with('#');
  return Error{error.code, error.message, form.where + (has_place ? error.subject : std::string())};
}

}  // namespace realizar::server
