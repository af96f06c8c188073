// A dialect of HTTP's clients as a whole: how its requests are read, its streams framed, its errors and its results
// spelled. It has no state and is named by its routes, so that what is refused before a body is read speaks it too. One
// file a dialect in dialects/.
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

// What a body becomes on a worker: a response, or what is to be generated, with the Speller of its results.
using Prepared = std::variant<HttpResponse, CompletionPlan>;

// Made in place: GCC 12 warns of the destructor of a Prepared that was moved from.
inline Result<Prepared> prepared(CompletionPlan plan) {
  Result<Prepared> made(Prepared{});
  made->emplace<CompletionPlan>(std::move(plan));
  return made;
}

struct Protocol {
  Result<Prepared> (*read)(Fields& body, const ServedModelPtr& model,
                           const RequestContext& context) = nullptr;  // null: no bodies
  KnownFields (*fields)() = nullptr;                                  // of bodies; null: they have none
  // The id of the model that bodies name, in place of the name itself. I/O thread. Null: it is the name.
  Result<std::string> (*model_id)(const RequestContext& context, const std::string& name) = nullptr;
  bool gives_text = false;                                              // which encoders do not
  bool tells_limits = false;                                            // replies have OpenAI's headers of rate limits
  HttpResponse (*spell_error)(const ApiError& error) = error_response;  // that is the whole reply
  const char* id_header = nullptr;                                      // one more header that has the request's id
  // Of streams:
  const char* content_type = "text/event-stream; charset=utf-8";
  std::string_view keep_alive = ": ping\n\n";        // where nothing else was sent for a while
  std::string_view terminator = "data: [DONE]\n\n";  // after what ends well
};

// Of routes that have no dialect of their own: OpenAI's errors.
inline constexpr Protocol kPlainProtocol;

// Whether the client of a call is one of Anthropic's API, by its headers.
bool is_anthropic(const HttpRequest& request);

// OpenAI's API, and what others have added to it.
extern const Protocol kChatCompletions, kChatTokens, kCompletions, kEmbeddings, kRerank, kCohereRerank, kScore, kFim;
extern const Protocol kResponses, kResponseTokens;
extern const Protocol kMessages, kMessageTokens;
extern const Protocol kLlama;  // of what is not generated: its errors alone
extern const Protocol kLlamaCompletion, kLlamaInfill, kTokenize, kDetokenize, kApplyTemplate;
extern const Protocol kOllama;  // of what is not generated: its errors alone
extern const Protocol kOllamaChat, kOllamaGenerate, kOllamaEmbed, kOllamaEmbeddings;

// Errors as Anthropic's API shows them: {"type": "error", "error": {"type", "message"}, "request_id"}, with its
// statuses: 529 where this server has no room or is not ready (https://docs.claude.com/en/api/errors).
HttpResponse message_error_response(const ApiError& error);
// Errors as llama.cpp's server shows them on routes of its own: {"error": {"code", "message", "type"}}, `code` being
// the HTTP status; for a prompt that is too long with n_prompt_tokens, where its tokens were counted, and n_ctx.
HttpResponse llama_error_response(const ApiError& error);

}  // namespace realizar::server
