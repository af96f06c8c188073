#include "server/call/read_body.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/try.h"
#include "server/call/chat_prompt.h"
#include "server/call/field_warnings.h"

namespace realizar::server {
namespace {

// How many ids of each kind a body may hold for this model.
IdLimits id_limits(const ServedModel& model) {
  return {model.loaded->info.n_ctx, max_text_bytes(model)};
}

Status check_gives_text(const ServedModel& model) {
  if (model.loaded->info.gives_text) return {};
  return invalid_argument(
      fmt::format("model: {} is an encoder or a reranker, which generates no text: it answers at {}", model.id,
                  model.loaded->pooling() == Pooling::kRank ? "/v1/rerank" : "/v1/embeddings"),
      "model");
}

// A prompt that is too long for the model is so for the server's own limit too, which its client must keep to.
Error with_own_limit(Error error, uint32_t most) {
  const bool is_for_model = error.code == ErrorCode::kContextLengthExceeded && error.n_ctx > most;
  if (most == 0 || !is_for_model) return error;
  error.n_ctx = most;
  error.message = error.n_prompt > 0
                      ? fmt::format("the prompt has {} tokens, this server takes {}", error.n_prompt, most)
                      : fmt::format("{}; this server takes prompts of {} tokens", error.message, most);
  return error;
}

Result<Prepared> read_whole(HttpBody& body, const Protocol& protocol, const ServedModelPtr& model,
                            const RequestContext& context, BodyNotes& notes) {
  RZ_TRY(Json json, parse_json(std::exchange(body, {}).bytes, id_limits(*model)));
  const TakenApartAtEnd end{json};
  if (!json.is_object()) return invalid_argument("the body is not a JSON object");
  notes.warning = field_warnings(json);
  if (protocol.gives_text) RZ_CHECK_OK(check_gives_text(*model));
  const auto start = Clock::now();
  Fields fields(json);
  auto prepared = protocol.read(fields, model, context);
  notes.prepare_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  return prepared;
}

}  // namespace

Result<Prepared> read_body(HttpBody& body, const Protocol& protocol, const ServedModelPtr& model,
                           const RequestContext& context, BodyNotes& notes) {
  Result<Prepared> prepared = read_whole(body, protocol, model, context, notes);
  if (prepared.ok()) return prepared;
  return with_own_limit(prepared.error(), context.max_prompt_tokens);
}

}  // namespace realizar::server
