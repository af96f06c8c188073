// A dialect of HTTP clients: how its requests are read, its streams framed, its errors and its results written. It is
// stateless and belongs to its routes, so that errors before a body is read also use it. One file per dialect in
// dialects/.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "realizar/result.h"
#include "server/call/plan_run.h"
#include "server/call/request_context.h"
#include "server/http/api_error.h"
#include "server/http/field_table.h"
#include "server/http/json.h"
#include "server/models/served_model.h"

namespace realizar::server {

// The result of reading a body on a worker: a response, or a plan, with the ResponseWriter for its results.
using Prepared = std::variant<HttpResponse, CompletionPlan>;

// Constructed in place: GCC 12 warns about the destructor of a moved-from Prepared.
inline Result<Prepared> prepared(CompletionPlan plan) {
  Result<Prepared> made(Prepared{});
  made->emplace<CompletionPlan>(std::move(plan));
  return made;
}

inline Prepared prepared(const Json& json, const char* content_type = "application/json") {
  return HttpResponse{200, content_type, dump(json), {}};
}

struct Protocol {
  Result<Prepared> (*read)(Fields& body, const ServedModelPtr& model,
                           const RequestContext& context) = nullptr;  // null: no bodies
  KnownFields (*fields)() = nullptr;                                  // of bodies; null: none
  // Maps a model's name in bodies to its id. I/O thread. Null: the name is the id.
  Result<std::string> (*model_id)(const RequestContext& context, const std::string& name) = nullptr;
  bool gives_text = false;                                              // encoders do not
  bool tells_limits = false;                                            // replies have OpenAI's headers of rate limits
  HttpResponse (*spell_error)(const ApiError& error) = error_response;  // as the whole reply
  const char* id_header = nullptr;                                      // an additional header with the request's id
  // For streams:
  const char* content_type = "text/event-stream; charset=utf-8";
  std::string_view keep_alive = ": ping\n\n";        // sent after a silence
  std::string_view terminator = "data: [DONE]\n\n";  // sent after a successful end
};

// For routes without a dialect of their own: OpenAI's errors.
inline constexpr Protocol kPlainProtocol;

// Whether the client of a call uses Anthropic's API, judging by its headers.
bool is_anthropic(const HttpRequest& request);

// OpenAI's API, and others' extensions of it.
extern const Protocol kChatCompletions, kChatTokens, kCompletions, kEmbeddings, kRerank, kCohereRerank, kScore, kFim;
extern const Protocol kResponses, kResponseTokens;
extern const Protocol kMessages, kMessageTokens;
extern const Protocol kLlama;  // for routes that do not generate: only its errors
extern const Protocol kLlamaCompletion, kLlamaInfill, kTokenize, kDetokenize, kApplyTemplate;
extern const Protocol kOllama;  // for routes that do not generate: only its errors
extern const Protocol kOllamaChat, kOllamaGenerate, kOllamaEmbed, kOllamaEmbeddings;

// Errors in the format of Anthropic's API: {"type": "error", "error": {"type", "message"}, "request_id"}, with its
// statuses: 529 if this server is full or not ready (https://docs.claude.com/en/api/errors).
HttpResponse message_error_response(const ApiError& error);
// Errors in the format of llama.cpp's own routes: {"error": {"code", "message", "type"}}, where `code` is the HTTP
// status; for a prompt that is too long also n_prompt_tokens, if its tokens were counted, and n_ctx.
HttpResponse llama_error_response(const ApiError& error);

}  // namespace realizar::server
