#include "server/api_error.h"

#include <nlohmann/json.hpp>

#include "server/json.h"

namespace realizar::server {
namespace {

const char* type_of(int status) {
  if (status == 401) return "authentication_error";
  if (status == 403) return "permission_error";
  if (status == 429) return "rate_limit_error";
  return status >= 500 ? "server_error" : "invalid_request_error";
}

constexpr size_t kMaxExcerptBytes = 100;
// Messages of other rooms may repeat more.
constexpr size_t kMaxMessageBytes = 1000;

std::string shortened(std::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return std::string(text);
  size_t n_bytes = max_bytes;
  while (n_bytes > 0 && (static_cast<uint8_t>(text[n_bytes]) & 0xC0) == 0x80) --n_bytes;
  return std::string(text.substr(0, n_bytes)) + "...";
}

Json or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

}  // namespace

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
      return {404, error.message, error.subject, "model_not_found"};
    case ErrorCode::kContextLengthExceeded:
      return {400, error.message, error.subject, "context_length_exceeded"};
    case ErrorCode::kResourceExhausted:
      if (error.subject == "shutdown") return {503, error.message, "", "shutting_down"};
      return {429, error.message, "", "rate_limit_exceeded"};
    case ErrorCode::kCancelled:
      return {499, error.message, "", "cancelled"};
    case ErrorCode::kInternal:
      break;
  }
  return {500, error.message, "", "internal_error"};
}

std::string excerpt(std::string_view text) {
  return shortened(text, kMaxExcerptBytes);
}

std::string error_json(const ApiError& error) {
  return dump({{"error",
                {{"message", shortened(error.message, kMaxMessageBytes)},
                 {"type", type_of(error.status)},
                 {"param", or_null(excerpt(error.param))},
                 {"code", or_null(error.code)}}}});
}

HttpResponse error_response(const ApiError& error) {
  HttpResponse response{error.status, "application/json", error_json(error), {}};
  if (error.status == 429 || error.status == 503) response.headers.emplace_back("Retry-After", "1");
  if (error.status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

}  // namespace realizar::server
