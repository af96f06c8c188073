// The beginning of a conversation beside a stored model, as Ollama's API has it (https://docs.ollama.com/api).
#pragma once

#include <string>

#include "realizar/result.h"
#include "server/http/json.h"

namespace realizar::server {

// Messages as they are stored, spelled as chat completions have them: thinking becomes reasoning_content, tool_name
// name. Errors: InvalidArgument naming the field for what is no message, for images, and for roles and contents that
// such a beginning cannot have.
Result<Json> read_stored_messages(const Json& messages);
// The images of a message, or of what has `prefix` before its fields.
Status refuse_images(const Json& holder, const std::string& prefix);

}  // namespace realizar::server
