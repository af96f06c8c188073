// The path of every call that a model answers: body, model, preparation on a worker, answer.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "base/printable.h"
#include "server/call/background.h"
#include "server/call/completion.h"
#include "server/call/context.h"
#include "server/call/protocol.h"
#include "server/call/read_body.h"
#include "server/http/body_coding.h"
#include "server/models/model_registry.h"
#include "server/routes/routes.h"

namespace realizar::server {
namespace {

ApiError not_decoded(DecodedBody::End end, size_t max_bytes) {
  switch (end) {
    case DecodedBody::End::kTooLarge:
      return {413, fmt::format("the body is larger than {} bytes when it is decoded", max_bytes), "", ""};
    case DecodedBody::End::kNoRoom:
      return {503, kNoBodyRoom, "", ""};
    default:
      return bad_request("the body does not match its Content-Encoding");
  }
}

// A small body is examined here, at once: that takes no longer than receiving it. A large one would delay other calls.
Task<Result<std::string>> model_name(Call& call) {
  const auto peek = [&] { return peek_model_name(call.body.bytes); };
  const size_t n_bytes = call.body.bytes.size();
  if (n_bytes <= WorkPool::kSmallBytes) co_return peek();
  OnWorker peeking(call, n_bytes, peek);
  co_return co_await peeking;
}

// 503 while the first model is loaded for the first time: a load balancer should send its clients elsewhere.
bool is_starting(const ModelRegistry& models, const std::string& name) {
  const auto* entry = models.find(name);
  return !models.has_been_ready() && entry == &models.entries().front() &&
         entry->state == ModelRegistry::State::kLoading;
}

}  // namespace

// A small body may decode to a large one: it is then decoded again on a worker for large bodies.
Task<Status> decode(Call& call) {
  const BodyCoding coding = body_coding(call.request.header("content-encoding")).value_or(BodyCoding::kIdentity);
  if (coding == BodyCoding::kIdentity) co_return Status();
  const size_t most = call.context.options.http.max_body_bytes;
  size_t n_work_bytes = call.body.bytes.size();
  while (true) {
    const size_t max_bytes = n_work_bytes <= WorkPool::kSmallBytes ? std::min(most, WorkPool::kSmallBytes) : most;
    OnWorker decoding(call, n_work_bytes, [&]() -> Result<DecodedBody> {
      return decode_body(call.body.bytes, coding, max_bytes, call.body.share);
    });
    RZ_CO_TRY(DecodedBody decoded, co_await decoding);
    if (decoded.end == DecodedBody::End::kWhole) {
      call.body.bytes = std::move(decoded.bytes);
      co_return Status();
    }
    if (decoded.end != DecodedBody::End::kTooLarge || max_bytes == most) {
      co_return call.refuse(not_decoded(decoded.end, most));
    }
    n_work_bytes = most;
  }
}

Task<Result<Json>> json_object(Call& call, bool may_be_missing) {
  RZ_CO_CHECK_OK(co_await decode(call));
  if (!call.is_over() && call.body.bytes.empty() && !may_be_missing) co_return invalid_argument("missing request body");
  if (call.is_over() || call.body.bytes.empty()) co_return Json::object();
  OnWorker parsing(call, call.body.bytes.size(), [&] { return parse_json(std::exchange(call.body, {}).bytes); });
  RZ_CO_TRY(Json body, co_await parsing);
  if (!body.is_object()) co_return invalid_argument("the body is not a JSON object");
  co_return body;
}

Task<Status> with_model(Call& call) {
  RZ_CO_CHECK_OK(co_await decode(call));
  if (call.is_over()) co_return Status();
  RZ_CO_TRY(std::string name, co_await model_name(call));
  if (call.protocol->model_id != nullptr) {
    RZ_CO_TRY(name, call.protocol->model_id(request_context(call), name));
  }
  call.record.asked_model = shown(name);
  if (is_starting(call.context.models, name)) {
    co_return call.refuse({503, "the model is loading", "", "model_loading"});
  }
  call.adapter = call.context.models.adapter_of(name);
  ModelWait wait(call, name);
  const auto asked = Clock::now();
  const Result<ServedModelPtr> model = co_await wait;
  call.record.load_ms = std::chrono::duration<double, std::milli>(Clock::now() - asked).count();
  if (!model.ok()) co_return model.error();

  BodyNotes notes;
  const RequestContext context = request_context(call);
  OnWorker preparing(call, call.body.bytes.size(),
                     [&] { return read_body(call.body, *call.protocol, *model, context, notes); });
  Result<Prepared> prepared = co_await preparing;
  call.record.warning = std::move(notes.warning);
  call.record.prepare_ms = notes.prepare_ms;
  if (!prepared.ok()) co_return prepared.error();
  if (auto* response = std::get_if<HttpResponse>(&*prepared)) co_return call.finish(std::move(*response));
  CompletionPlan plan = std::get<CompletionPlan>(std::move(*prepared));
  const auto generating = plan.background_id.empty() ? generate : generate_in_background;
  const Status generated = co_await generating(call, *model, std::move(plan));
  co_return generated;
}

}  // namespace realizar::server
