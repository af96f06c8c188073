#include "server/models/structured_output.h"

#include <fmt/format.h>

#include "base/try.h"
#include "server/models/answer_form.h"

namespace realizar::server {

Result<std::shared_ptr<grammar::MaskCache>> read_response_format(const Json& body, GrammarCache& grammars) {
  RZ_TRY(const AnswerForm form, read_answer_form(body));
  if (form.kind == AnswerForm::Kind::kFree) return std::shared_ptr<grammar::MaskCache>();
  const std::string key = fmt::format("form {} {} {}", static_cast<int>(form.kind), form.is_strict, form.source);
  return grammars.find_or_compile(key, [&] { return grammar_of(form); });
}

}  // namespace realizar::server
