// Stored responses (https://platform.openai.com/docs/api-reference/responses): GET and DELETE /v1/responses/ID, GET
// /v1/responses/ID/input_items and POST /v1/responses/ID/cancel.
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "base/try.h"
#include "server/call/background.h"
#include "server/call/context.h"
#include "server/dialects/responses/response_items.h"
#include "server/routes/routes.h"

namespace realizar::server {
namespace {

Error no_such_response(const std::string& id) {
  return not_found("there is no response '" + shown(id) +
                       "' here. Responses are only stored for a while, and for the key that requested them",
                   "");
}

HttpResponse refused(const Error& error) {
  return error_response(to_api_error(error));
}

struct GetQuery {
  bool streams = false;
  size_t first_event = 0;  // of the stream
};

// "stream=true&starting_after=42"; the first event has the number 0.
Result<GetQuery> read_get_query(std::string_view query) {
  GetQuery read;
  for (const auto& [name, value] : query_fields(query)) {
    if (name == "stream") read.streams = value == "true";
    if (name != "starting_after") continue;
    const auto last = number_of<size_t>(value);
    if (!last || *last == SIZE_MAX) return wrong(name, "expected a whole number from 0, actual '" + shown(value) + "'");
    read.first_event = *last + 1;
  }
  return read;
}

}  // namespace

Task<Status> get_response(Call& call) {
  RZ_CO_TRY(const GetQuery query, read_get_query(call.request.query));
  const StoredResponsePtr stored = call.context.responses.find(call.tenant, call.path_id);
  if (stored == nullptr) co_return no_such_response(call.path_id);
  if (!query.streams) co_return call.finish({200, "application/json", stored->response, {}});
  const BackgroundRecordPtr record = call.context.background.find(call.tenant, call.path_id);
  if (record == nullptr) {
    co_return wrong("stream", stored->in_background ? "the events of this response are no longer stored"
                                                    : "only responses in the background can be streamed again");
  }
  const Status followed = co_await follow(call, record, query.first_event);
  co_return followed;
}

// A response that is still being made ends.
HttpResponse delete_response(const Call& call) {
  if (const BackgroundRecordPtr record = call.context.background.find(call.tenant, call.path_id)) {
    record->cancel();
    call.context.background.erase(call.tenant, call.path_id);
  }
  if (!call.context.responses.erase(call.tenant, call.path_id)) return refused(no_such_response(call.path_id));
  return json_response({{"id", call.path_id}, {"object", "response"}, {"deleted", true}});
}

Task<Status> get_input_items(Call& call) {
  RZ_CO_TRY(const ItemsQuery query, read_items_query(call.request.query));
  const auto chain = call.context.responses.find_chain(call.tenant, call.path_id);
  if (chain.empty()) co_return no_such_response(call.path_id);
  size_t n_bytes = 0;
  for (const StoredResponsePtr& stored : chain) n_bytes += stored->n_bytes();
  OnWorker listing(call, n_bytes, [&]() -> Result<std::string> {
    RZ_TRY(const Json items, input_items_of(chain));
    RZ_TRY(const Json list, list_items(items, query));
    return dump(list);
  });
  RZ_CO_TRY(std::string list, co_await listing);
  co_return call.finish({200, "application/json", std::move(list), {}});
}

// Only a response in the background can be cancelled, as in OpenAI's API. A completed one is unchanged.
HttpResponse post_cancel_response(const Call& call) {
  const auto find = [&] { return call.context.responses.find(call.tenant, call.path_id); };
  StoredResponsePtr stored = find();
  if (stored == nullptr) return refused(no_such_response(call.path_id));
  if (!stored->in_background) {
    return refused(invalid_argument(
        "only responses in the background can be cancelled: to end another one, close its connection"));
  }
  const BackgroundRecordPtr record = call.context.background.find(call.tenant, call.path_id);
  if (record != nullptr) record->cancel();
  stored = find();
  if (stored == nullptr) return refused(no_such_response(call.path_id));
  return {200, "application/json", stored->response, {}};
}

}  // namespace realizar::server
