// The form that a request wants its answer to have, in the spellings of OpenAI, llama.cpp and vLLM.
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
  std::string source;      // a JSON Schema, GBNF, a regular expression, or a JSON array of the texts to choose from
  std::string where;       // the field that asked for it, for errors
  bool is_strict = false;  // what no grammar holds of the schema is an error, and not left out
};

// Reads the fields of which one may ask for a form. `own`: what a field of the dialect's own asks for in the place of
// response_format. Errors: InvalidArgument or Unsupported, naming the field.
Result<AnswerForm> read_answer_form(const Json& body, std::optional<AnswerForm> own = std::nullopt);
KnownFields form_fields();

// {type: json_schema, json_schema: {schema, strict}}, {type: json_object}, {type: text}, or llama.cpp's and Together's
// {type, schema}. Errors: as above.
Result<AnswerForm> read_response_form(const Json& format, const std::string& where);
// {schema, strict}
Result<AnswerForm> read_named_schema(const Json& named, const std::string& where);

// What has the form; not for kFree. Errors: those of the grammar, naming the field or, in it, the schema's keyword.
Result<std::shared_ptr<const grammar::Grammar>> grammar_of(const AnswerForm& form);
// This grammar, compiled once for all requests; null where the answer is free.
Result<std::shared_ptr<grammar::MaskCache>> masks_of(const AnswerForm& form, GrammarCache& grammars);

}  // namespace realizar::server
