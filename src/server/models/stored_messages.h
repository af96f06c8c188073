// The beginning of a conversation stored with a model, as in Ollama's API (https://docs.ollama.com/api).
#pragma once

#include <string>

#include "realizar/result.h"
#include "server/http/json.h"

namespace realizar::server {

// Messages for storing, in the format of chat completions: thinking becomes reasoning_content, tool_name name. Errors:
// InvalidArgument naming the field for invalid messages, images, and roles and contents that such a beginning cannot
// have.
Result<Json> read_stored_messages(const Json& messages);
// Refuses the images of a message, or of an object whose fields follow `prefix`.
Status refuse_images(const Json& holder, const std::string& prefix);

}  // namespace realizar::server
