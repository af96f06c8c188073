// Errors in OpenAI's format: {"error": {"message", "type", "param", "code"}}, with an HTTP status. For a prompt that is
// too long the type is llama.cpp's, and there are two more fields: n_prompt_tokens, if its tokens were counted, and
// n_ctx.
#pragma once

#include <cstdint>
#include <string>

#include "realizar/result.h"
#include "server/http/http.h"

namespace realizar::server {

struct ApiError {
  int status = 500;
  std::string message;
  std::string param;  // the invalid field; "": null
  std::string code;   // "": null
  // The sizes for a prompt that is too long; 0: not reported.
  uint32_t n_prompt = 0, n_ctx = 0;
  std::string request_id = {};  // the call's, for dialects whose errors repeat it
  const char* type = nullptr;   // if different from the status's type
};

ApiError to_api_error(const Error& error);
ApiError bad_request(std::string message, std::string param = {}, std::string code = {});

// The message, cut to a reasonable length. Code that quotes a client's text in an error shortens it itself; this is the
// limit for what was missed.
std::string bounded(const std::string& message, size_t max_bytes = 1000);

// Only the body, for an error within a stream, and the whole response.
std::string error_json(const ApiError& error);
HttpResponse error_response(const ApiError& error);

}  // namespace realizar::server
