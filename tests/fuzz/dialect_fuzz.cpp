// A route's path on the first line, then any bytes as the body of a request to it, read by its dialect. Invariants: a
// refusal is reported in the dialect's own JSON; an accepted body has prompts that fit the model.
#include <nlohmann/json.hpp>

#include "bundled_rig.h"
#include "server/call/protocol.h"
#include "server/routes/routes.h"

using namespace realizar;
using namespace realizar::server;

namespace {

void check_plan(const CompletionPlan& plan) {
  require(plan.writer != nullptr && !plan.requests.empty());
  for (const Request& request : plan.requests) {
    require(request.prompt.size() <= rig().model().loaded->info.n_ctx);
  }
}

void check_error(const Protocol& protocol, const Error& error) {
  require(!error.message.empty());
  const HttpResponse response = protocol.spell_error(to_api_error(error));
  require(response.status >= 400 && response.status < 600);
  const auto json = parse_json(response.body);
  require(json.ok() && json->contains("error"));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t end_of_path = std::min(text.find('\n'), text.size());
  const RouteMatch match = find_route("POST", text.substr(0, end_of_path));
  if (match.route == nullptr || match.route->protocol->read == nullptr) return 0;
  const Protocol& protocol = *match.route->protocol;
  const auto body = parse_json(text.substr(std::min(end_of_path + 1, text.size())), {1024, 8192});
  if (!body.ok() || !body->is_object()) return 0;
  Fields fields(*body);
  const auto prepared = protocol.read(fields, rig().shared_model(), rig().context);
  if (!prepared.ok()) {
    check_error(protocol, prepared.error());
  } else if (const auto* plan = std::get_if<CompletionPlan>(&*prepared)) {
    check_plan(*plan);
  } else {
    require(parse_json(std::get<HttpResponse>(*prepared).body).ok());
  }
  return 0;
}
