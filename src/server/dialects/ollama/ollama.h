// What all routes of Ollama's API share (https://docs.ollama.com/api): names, times, errors, and how its requests
// become ours.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "server/call/protocol.h"
#include "server/http/api_error.h"
#include "server/http/json.h"
#include "server/models/made_models.h"

namespace realizar::server {

inline constexpr const char* kOllamaLines = "application/x-ndjson";  // of streams: a JSON object a line

// {"error": "..."}
HttpResponse ollama_error(const ApiError& error);
// The same as a stream's last line.
std::string ollama_error_line(const ApiError& error);

// "2026-11-22T11:14:43.416799Z"
std::string rfc3339(std::chrono::system_clock::time_point time);

Error no_ollama_model(std::string_view name);
// The id of the model that answers for a name: exact, unlike ModelRegistry::find, since clients choose from a list and
// fetch what is not in it. I/O thread. Errors: NotFound.
Result<std::string> ollama_model_id(const RequestContext& context, const std::string& name);

// A time that a model stays loaded after a request.
struct KeepAlive {
  std::optional<std::chrono::milliseconds> duration;  // nullopt: for ever
};
// Seconds, or a text of Go's durations ("5m", "1h30m", "-1"); what is below 0 means for ever. Nullopt where the field
// is absent. Errors are kept in `body`.
std::optional<KeepAlive> read_keep_alive(Fields& body);

// A request of /api/chat or /api/generate, as far as it is none of the dialect's own.
struct OllamaRequest {
  std::string model;  // as the client names it
  MadeModelPtr made;  // null: none has the name
  Json chat;          // a chat completion's body, without messages
  bool stream = true;
  bool truncates = true;      // a prompt that is too long is cut
  bool renders_only = false;  // the prompt is the answer
  bool shifts = false;        // an answer goes on where the context is full
  uint32_t max_context = 0;   // of prompt and answer; 0: the model's
  uint32_t n_keep = 4;        // tokens of a prompt's beginning that cutting leaves
  std::optional<KeepAlive> keep_alive;
};
// Reads model, options, format, think, keep_alive, stream, truncate, shift, logprobs, top_logprobs and
// _debug_render_only. Errors: InvalidArgument naming the field; Unsupported where the model cannot think.
Result<OllamaRequest> read_ollama_request(Fields& body, const ServedModel& model, const RequestContext& context);

void apply_keep_alive(const std::optional<KeepAlive>& wish, const ServedModel& model, const RequestContext& context);

}  // namespace realizar::server
