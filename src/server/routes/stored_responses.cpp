// Responses that were stored (https://platform.openai.com/docs/api-reference/responses): GET and DELETE
// /v1/responses/ID, GET /v1/responses/ID/input_items and POST /v1/responses/ID/cancel.
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "base/try.h"
#include "server/context.h"
#include "server/response_items.h"
#include "server/routes.h"

namespace realizar::server {
namespace {

Error no_such_response(const std::string& id) {
  return not_found("there is no response '" + shown(id) +
                       "' here. Responses are kept for a while only, and for the key that asked for them",
                   "");
}

HttpResponse refused(const Error& error) {
  return error_response(to_api_error(error));
}

bool asks_for_stream(std::string_view query) {
  return ("&" + std::string(query) + "&").find("&stream=true&") != std::string::npos;
}

}  // namespace

HttpResponse get_response(const Call& call) {
  const StoredResponsePtr stored = call.context.responses.find(call.tenant, call.path_id);
  if (stored == nullptr) return refused(no_such_response(call.path_id));
  if (asks_for_stream(call.request.query)) {
    return refused(wrong("stream", "only responses in the background can be streamed again, and this server has none"));
  }
  return {200, "application/json", stored->response, {}};
}

HttpResponse delete_response(const Call& call) {
  if (!call.context.responses.erase(call.tenant, call.path_id)) return refused(no_such_response(call.path_id));
  const Json json{{"id", call.path_id}, {"object", "response"}, {"deleted", true}};
  return {200, "application/json", dump(json), {}};
}

Task<Status> get_input_items(Call& call) {
  const auto query = read_items_query(call.request.query);
  if (!query.ok()) co_return query.error();
  const auto chain = call.context.responses.find_chain(call.tenant, call.path_id);
  if (chain.empty()) co_return no_such_response(call.path_id);
  size_t n_bytes = 0;
  for (const StoredResponsePtr& stored : chain) n_bytes += stored->n_bytes();
  OnWorker listing(call, n_bytes, [&]() -> Result<std::string> {
    RZ_TRY(const Json items, input_items_of(chain));
    RZ_TRY(const Json list, list_items(items, *query));
    return dump(list);
  });
  Result<std::string> list = co_await listing;
  if (!list.ok()) co_return list.error();
  call.send({200, "application/json", std::move(*list), {}});
  co_return Status();
}

// As OpenAI's API has it, only a response in the background can be cancelled. Others end with their connection.
HttpResponse post_cancel_response(const Call& call) {
  const StoredResponsePtr stored = call.context.responses.find(call.tenant, call.path_id);
  if (stored == nullptr) return refused(no_such_response(call.path_id));
  return refused(invalid_argument(
      "only responses in the background can be cancelled, and this one is complete: to end one that is "
      "being made, close its connection"));
}

}  // namespace realizar::server
