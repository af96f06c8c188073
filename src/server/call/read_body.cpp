#include "server/call/read_body.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/try.h"
#include "server/call/chat_prompt.h"
#include "server/call/field_warnings.h"
#include "server/call/schema_warning.h"

namespace realizar::server {
namespace {

// The maximum number of ids of each kind in a body for this model.
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

// Names the keywords of a schema that the answers' grammar does not enforce.
std::string schema_warning_of(const Prepared& prepared) {
  const auto* plan = std::get_if<CompletionPlan>(&prepared);
  if (plan == nullptr || plan->requests.empty() || plan->requests[0].constraint == nullptr) return {};
  return schema_warning(plan->requests[0].constraint->left_out());
}

// Warns about tools for which the model has no call format of its own.
std::string tools_warning_of(const Prepared& prepared) {
  const auto* plan = std::get_if<CompletionPlan>(&prepared);
  const bool is_general = plan != nullptr && !plan->choice.tools.empty() && plan->choice.format->is_general;
  if (!is_general) return {};
  return "The model's chat template shows no form of tool calls: they are read as "
         "<tool_call>{\"name\", \"arguments\"}</tool_call>.";
}

void add_warning(std::string& warnings, const std::string& warning) {
  if (!warnings.empty() && !warning.empty()) warnings += ' ';
  warnings += warning;
}

// A prompt that is too long for the model also exceeds the server's own limit, which its client must observe.
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
  if (!prepared.ok()) return prepared;
  add_warning(notes.warning, schema_warning_of(*prepared));
  add_warning(notes.warning, tools_warning_of(*prepared));
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
