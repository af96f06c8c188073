// The adapter of a request: by the name of its model, "base:adapter", or by llama.cpp's field `lora`.
#pragma once

#include <string>

#include "server/call/request_context.h"
#include "server/http/json.h"
#include "server/models/served_model.h"

namespace realizar::server {

// An item of a list of adapters, [{id, scale}]: the name of the requested one, "" for none, and its scale. `field`: the
// name of the list. Errors: InvalidArgument naming the field, Unsupported (several adapters).
struct AdapterWish {
  std::string name;
  float scale = 1.0f;
};
Result<AdapterWish> read_adapter_list(const Json& list, const std::string& field, const ServedModel& model);

// The model's name in answers, with the call's adapter.
std::string told_name(const RequestContext& context, const ServedModel& model);

}  // namespace realizar::server
