// Responses that were stored (https://platform.openai.com/docs/api-reference/responses): GET and DELETE
// /v1/responses/ID, GET /v1/responses/ID/input_items and POST /v1/responses/ID/cancel.
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "server/response_items.h"
#include "server/routes.h"

namespace realizar::server {
namespace {

Error no_such_response(const std::string& id) {
  return not_found("there is no response '" + shown(id) +
                       "' here. Responses are kept for a while only, and for the key that asked for them",
                   "");
}

bool asks_for_stream(std::string_view query) {
  return ("&" + std::string(query) + "&").find("&stream=true&") != std::string::npos;
}

}  // namespace

void get_response(Call call) {
  const StoredResponsePtr stored = call.context.responses.find(call.tenant, call.path_id);
  if (stored == nullptr) return fail(*call.reply, no_such_response(call.path_id));
  if (asks_for_stream(call.request->query)) {
    return fail(*call.reply, wrong("stream",
                                   "only responses in the background can be streamed again, and this server "
                                   "has none"));
  }
  call.reply->send({200, "application/json", stored->response, {}});
}

void delete_response(Call call) {
  if (!call.context.responses.erase(call.tenant, call.path_id)) {
    return fail(*call.reply, no_such_response(call.path_id));
  }
  const Json json{{"id", call.path_id}, {"object", "response"}, {"deleted", true}};
  call.reply->send({200, "application/json", dump(json), {}});
}

void get_input_items(Call call) {
  const auto query = read_items_query(call.request->query);
  if (!query.ok()) return fail(*call.reply, query.error());
  const auto chain = call.context.responses.find_chain(call.tenant, call.path_id);
  if (chain.empty()) return fail(*call.reply, no_such_response(call.path_id));
  size_t n_bytes = 0;
  for (const StoredResponsePtr& stored : chain) n_bytes += stored->n_bytes();
  const auto body = std::make_shared<Result<std::string>>("");
  on_worker(
      std::move(call), n_bytes,
      [chain, query = *query, body](const Call&) {
        *body = [&]() -> Result<std::string> {
          RZ_TRY(const Json items, input_items_of(chain));
          RZ_TRY(const Json list, list_items(items, query));
          return dump(list);
        }();
      },
      [body](Call ready) {
        if (!body->ok()) return fail(*ready.reply, body->error());
        ready.reply->send({200, "application/json", std::move(**body), {}});
      });
}

// As OpenAI's API has it, only a response in the background can be cancelled. Others end with their connection.
void post_cancel_response(Call call) {
  const StoredResponsePtr stored = call.context.responses.find(call.tenant, call.path_id);
  if (stored == nullptr) return fail(*call.reply, no_such_response(call.path_id));
  fail(*call.reply, invalid_argument("only responses in the background can be cancelled, and this one is complete: to "
                                     "end one that is being made, close its connection"));
}

}  // namespace realizar::server
