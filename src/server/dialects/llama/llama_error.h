// Errors as llama.cpp's server shows them on routes of its own: {"error": {"code", "message", "type"}}, `code` being
// the HTTP status; for a prompt that is too long with n_prompt_tokens, where its tokens were counted, and n_ctx.
#pragma once

#include <string>

#include "server/http/api_error.h"

namespace realizar::server {

std::string llama_error_json(const ApiError& error);
HttpResponse llama_error_response(const ApiError& error);

}  // namespace realizar::server
