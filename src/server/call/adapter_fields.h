// Which adapter a request has: by the name of its model, "base:adapter", or by llama.cpp's field `lora`.
#pragma once

#include <string>

#include "realizar/request.h"
#include "server/call/request_context.h"
#include "server/http/json.h"
#include "server/models/served_model.h"

namespace realizar::server {

// Sets the request's adapter, which is that of the call's model name until then: to the one item with a scale other
// than 0 of the list, [{id, scale}], the ids as GET /lora-adapters has them. An empty list, or one of zeros: none.
// Without either the request has the default one. Errors: InvalidArgument naming the field, Unsupported (several
// adapters).
Status read_adapter(const Json& list, const std::string& field, const ServedModel& model, Request& request);

// The items of such a list: the name of the one that is wanted, "" for none, and its scale. `field`: what holds it.
struct AdapterWish {
  std::string name;
  float scale = 1.0f;
};
Result<AdapterWish> read_adapter_list(const Json& list, const std::string& field, const ServedModel& model);

// The model's name as answers have it, with the adapter that the call has named.
std::string told_name(const RequestContext& context, const ServedModel& model);

}  // namespace realizar::server
