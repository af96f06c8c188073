// The form that a request demands of its answer, in the formats of OpenAI, llama.cpp and vLLM.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "api/grammar_cache.h"
#include "grammar/grammar.h"
#include "realizar/result.h"
#include "server/http/field_table.h"
#include "server/http/json.h"

namespace realizar::server {

struct AnswerForm {
  enum class Kind { kFree, kSchema, kGrammar, kRegex, kChoice } kind = Kind::kFree;
  std::string source;      // a JSON Schema, GBNF, a regular expression, or a JSON array of the allowed texts
  std::string where;       // the field that requested it, for errors
  bool is_strict = false;  // unsupported parts of the schema are an error instead of ignored
};

// Reads the fields of which one may request a form. `own`: the form that a dialect's own field requests, in place of
// response_format. Errors: InvalidArgument or Unsupported, naming the field.
Result<AnswerForm> read_answer_form(const Json& body, std::optional<AnswerForm> own = std::nullopt);
KnownFields form_fields();

// {type: json_schema, json_schema: {schema, strict}}, {type: json_object}, {type: text}, or llama.cpp's and Together's
// {type, schema}. Errors: the same.
Result<AnswerForm> read_response_form(const Json& format, const std::string& where);
// {schema, strict}
Result<AnswerForm> read_named_schema(const Json& named, const std::string& where);

// The grammar of the form, which must not be kFree. Errors: those of the grammar, naming the field or the schema's
// keyword in it.
Result<std::shared_ptr<const grammar::Grammar>> grammar_of(const AnswerForm& form);
// The grammar, compiled once for all requests; null for a free answer.
Result<std::shared_ptr<grammar::MaskCache>> masks_of(const AnswerForm& form, GrammarCache& grammars);

}  // namespace realizar::server
