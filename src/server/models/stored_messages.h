// Messages as Ollama's API has them, in requests and beside stored models (https://docs.ollama.com/api).
#pragma once

#include <string>

#include "realizar/result.h"
#include "server/http/json.h"

namespace realizar::server {

// Messages as chat completions have them: thinking becomes reasoning_content, tool_name name. Errors: InvalidArgument
// for what is no message, and for images.
Result<Json> read_ollama_messages(const Json& messages);
Status refuse_images(const Json& holder, const std::string& prefix);

// The same for the beginning of a conversation that a stored model has. Errors: also InvalidArgument naming the field
// for roles and contents that such a beginning cannot have.
Result<Json> read_stored_messages(const Json& messages);

}  // namespace realizar::server
