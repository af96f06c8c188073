// The forms that requests ask for in their bodies: JSON of a schema, a grammar's sentences.
#pragma once

#include <memory>

#include "api/grammar_cache.h"
#include "realizar/result.h"
#include "server/http/json.h"

namespace realizar::server {

// The grammar of the form that the body asks for (answer_form.h), or null where the answer is free. Errors:
// InvalidArgument or Unsupported, naming the field or the schema's keyword.
Result<std::shared_ptr<grammar::MaskCache>> read_response_format(const Json& body, GrammarCache& grammars);

}  // namespace realizar::server
