#include "server/http/api_error.h"

#include <nlohmann/json.hpp>

#include "base/caught.h"
#include "base/printable.h"
#include "server/http/json.h"

namespace realizar::server {
namespace {

constexpr std::string_view kTooLong = "context_length_exceeded";

const char* error_type(int status, std::string_view code) {
  if (code == kTooLong) return "exceed_context_size_error";
  if (status == 403) return "permission_error";
  if (status == 429) return "rate_limit_error";
  return status >= 500 ? "server_error" : "invalid_request_error";
}

constexpr size_t kMaxParamBytes = 100;

Json or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

}  // namespace

std::string bounded(const std::string& message, size_t max_bytes) {
  return message.size() <= max_bytes ? message : shown(message, max_bytes);
}

ApiError bad_request(std::string message, std::string param, std::string code) {
  return {400, std::move(message), std::move(param), std::move(code)};
}

ApiError to_api_error(const Error& error) {
  switch (error.code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kFormatError:
    case ErrorCode::kUnsupported:
      return {400, error.message, error.subject, ""};
    case ErrorCode::kNotFound:
      if (error.subject == "model") return {404, error.message, error.subject, "model_not_found"};
      if (error.subject == "previous_response_id") {
        return {400, error.message, error.subject, "previous_response_not_found"};
      }
      return {404, error.message, error.subject, "not_found"};
    case ErrorCode::kContextLengthExceeded:
      return {400, error.message, error.subject, std::string(kTooLong), error.n_prompt, error.n_ctx};
    case ErrorCode::kResourceExhausted:
      if (error.subject == kOutOfResources) return {503, error.message, "", "out_of_resources"};
      if (error.subject == "disk") return {507, error.message, "", "insufficient_storage"};
      if (error.subject == "shutdown") return {503, error.message, "", "shutting_down"};
      return {429, error.message, "", "rate_limit_exceeded"};
    case ErrorCode::kCancelled:
      return {499, error.message, "", "cancelled"};
    case ErrorCode::kInternal:
      break;
  }
  return {500, error.message, "", "internal_error"};
}

std::string error_json(const ApiError& error) {
  Json json{{"message", bounded(error.message)},
            {"type", error.type != nullptr ? error.type : error_type(error.status, error.code)},
            {"param", or_null(bounded(error.param, kMaxParamBytes))},
            {"code", or_null(error.code)}};
  if (error.n_prompt > 0) json["n_prompt_tokens"] = error.n_prompt;
  if (error.n_ctx > 0) json["n_ctx"] = error.n_ctx;
  return dump({{"error", std::move(json)}});
}

HttpResponse error_response(const ApiError& error) {
  HttpResponse response{error.status, "application/json", error_json(error), {}};
  if (error.status == 429 || error.status == 503) {
    response.headers.emplace_back("Retry-After", "1");
    response.headers.emplace_back("retry-after-ms", "1000");
  }
  if (error.status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

}  // namespace realizar::server
