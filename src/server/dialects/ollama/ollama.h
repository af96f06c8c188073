// The common parts of all routes of Ollama's API (https://docs.ollama.com/api): names, times, errors.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "server/call/protocol.h"
#include "server/http/api_error.h"
#include "server/http/json.h"

namespace realizar::server {

inline constexpr const char* kOllamaJson = "application/json; charset=utf-8";
inline constexpr const char* kOllamaLines = "application/x-ndjson";  // of streams: one JSON object per line

// {"error": "..."}
HttpResponse ollama_error(const ApiError& error);
// The error as a stream's last line.
std::string ollama_error_line(const ApiError& error);

// "2026-11-22T11:14:43.416799Z"
std::string rfc3339(std::chrono::system_clock::time_point time);

// The beginning of an immediate answer with an empty message.
Json empty_ollama_answer(const std::string& model, bool is_chat, const char* role);

Error no_ollama_model(std::string_view name);
// The id of the model for a name: exact, unlike ModelRegistry::find, since clients choose from a list and download what
// is not in it. I/O thread. Errors: NotFound.
Result<std::string> ollama_model_id(const RequestContext& context, const std::string& name);

// How long a model stays loaded after a request.
struct KeepAlive {
  std::optional<std::chrono::milliseconds> duration;  // nullopt: forever
};
// Seconds, or a Go duration ("5m", "1h30m", "-1"); a value below 0 means forever. Nullopt if the field is absent.
// Errors are kept in `body`.
std::optional<KeepAlive> read_keep_alive(Fields& body);

void apply_keep_alive(const std::optional<KeepAlive>& wish, const ServedModel& model, const RequestContext& context);

}  // namespace realizar::server
