// Errors as OpenAI's API shows them: {"error": {"message", "type", "param", "code"}}, with an HTTP status. A prompt
// that is too long has llama.cpp's type for it, and two fields more: n_prompt_tokens, where its tokens were counted,
// and n_ctx.
#pragma once

#include <cstdint>
#include <string>

#include "realizar/result.h"
#include "server/http/http.h"

namespace realizar::server {

struct ApiError {
  int status = 500;
  std::string message;
  std::string param;  // the field that is wrong; "": null
  std::string code;   // "": null
  // The numbers of a prompt that is too long; 0: not shown.
  uint32_t n_prompt = 0, n_ctx = 0;
  std::string request_id = {};  // of the call, for dialects whose errors repeat it
  const char* type = nullptr;   // where it is not that of the status
};

ApiError to_api_error(const Error& error);
ApiError bad_request(std::string message, std::string param = {}, std::string code = {});

// A message that is not too long to be told. What errors repeat is shown by whoever makes them; here is the bound for
// all that was missed.
std::string bounded(const std::string& message, size_t max_bytes = 1000);

// The body alone, for an error inside a stream, and the whole response.
std::string error_json(const ApiError& error);
HttpResponse error_response(const ApiError& error);

}  // namespace realizar::server
