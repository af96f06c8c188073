#include "server/dialects/anthropic/message_error.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "server/http/json.h"

namespace realizar::server {
namespace {

constexpr size_t kMaxShownBytes = 1000;
constexpr int kOverloaded = 529;

int status_of(const ApiError& error) {
  return error.status == 503 ? kOverloaded : error.status;
}

const char* error_type(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit_error";
    case 504:
      return "timeout_error";
    case kOverloaded:
      return "overloaded_error";
    default:
      return status >= 500 ? "api_error" : "invalid_request_error";
  }
}

// The field that is wrong has no place of its own. Claude Code shortens a conversation when it reads that the prompt is
// too long.
std::string message_of(const ApiError& error) {
  const bool names_field = error.message.find(error.param) != std::string::npos;
  if (error.code != "context_length_exceeded") return names_field ? error.message : error.param + ": " + error.message;
  if (error.n_prompt == 0) return "prompt is too long: " + error.message;
  return fmt::format("prompt is too long: {} tokens > {} maximum", error.n_prompt, error.n_ctx);
}

}  // namespace

std::string message_error_json(const ApiError& error) {
  const std::string message = message_of(error);
  return dump({{"type", "error"},
               {"error",
                {{"type", error_type(status_of(error))},
                 {"message", message.size() <= kMaxShownBytes ? message : shown(message, kMaxShownBytes)}}},
               {"request_id", error.request_id}});
}

HttpResponse message_error_response(const ApiError& error) {
  HttpResponse response = error_response(error);
  response.status = status_of(error);
  response.body = message_error_json(error);
  return response;
}

}  // namespace realizar::server
