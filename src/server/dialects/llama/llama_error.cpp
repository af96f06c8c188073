#include "server/dialects/llama/llama_error.h"

#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "server/http/json.h"

namespace realizar::server {
namespace {

constexpr size_t kMaxToldBytes = 1000;

const char* llama_type_of(const ApiError& error) {
  if (error.n_ctx > 0) return "exceed_context_size_error";
  switch (error.status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 501:
      return "not_supported_error";
    case 429:
    case 503:
      return "unavailable_error";
    default:
      return error.status >= 500 ? "server_error" : "invalid_request_error";
  }
}

}  // namespace

std::string llama_error_json(const ApiError& error) {
  const bool is_long = error.message.size() > kMaxToldBytes;
  Json json{{"code", error.status},
            {"message", is_long ? shown(error.message, kMaxToldBytes) : error.message},
            {"type", llama_type_of(error)}};
  if (error.n_prompt > 0) json["n_prompt_tokens"] = error.n_prompt;
  if (error.n_ctx > 0) json["n_ctx"] = error.n_ctx;
  return dump({{"error", std::move(json)}});
}

HttpResponse llama_error_response(const ApiError& error) {
  HttpResponse response = error_response(error);
  response.body = llama_error_json(error);
  return response;
}

}  // namespace realizar::server
