// Which adapter a request has: by the name of its model, "base:adapter", or by llama.cpp's field `lora`.
#pragma once

#include <string>

#include "server/call/request_context.h"
#include "server/http/json.h"
#include "server/models/served_model.h"

namespace realizar::server {

// The items of a list of adapters, [{id, scale}]: the name of the one that is wanted, "" for none, and its scale.
// `field`: what holds it. Errors: InvalidArgument naming the field, Unsupported (several adapters).
struct AdapterWish {
  std::string name;
  float scale = 1.0f;
};
Result<AdapterWish> read_adapter_list(const Json& list, const std::string& field, const ServedModel& model);

// The model's name as answers have it, with the adapter that the call has named.
std::string told_name(const RequestContext& context, const ServedModel& model);

}  // namespace realizar::server
