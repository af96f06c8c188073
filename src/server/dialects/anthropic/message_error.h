// Errors as Anthropic's API shows them: {"type": "error", "error": {"type", "message"}, "request_id"}, with its
// statuses: 529 where this server has no room or is not ready (https://docs.claude.com/en/api/errors).
#pragma once

#include <string>

#include "server/http/api_error.h"

namespace realizar::server {

// The body alone, for an error inside a stream, and the whole response.
std::string message_error_json(const ApiError& error);
HttpResponse message_error_response(const ApiError& error);

}  // namespace realizar::server
