// The form that a request wants its answer to have, in the spellings of OpenAI, llama.cpp and vLLM.
#pragma once

#include <memory>
#include <string>

#include "grammar/grammar.h"
#include "realizar/result.h"
#include "server/http/json.h"

namespace realizar::server {

struct AnswerForm {
  enum class Kind { kFree, kSchema, kGrammar, kRegex, kChoice } kind = Kind::kFree;
  std::string source;      // a JSON Schema, GBNF, a regular expression, or a JSON array of the texts to choose from
  std::string where;       // the field that asked for it, for errors
  bool is_strict = false;  // what no grammar holds of the schema is an error, and not left out
};

// Reads response_format, grammar, json_schema, structured_outputs and guided_json, _regex, _choice, _grammar and
// _json_object, of which one may ask for a form. Errors: InvalidArgument or Unsupported, naming the field.
Result<AnswerForm> read_answer_form(const Json& body);

// What has the form; not for kFree. Errors: those of the grammar, naming the field or, in it, the schema's keyword.
Result<std::shared_ptr<const grammar::Grammar>> grammar_of(const AnswerForm& form);

}  // namespace realizar::server
