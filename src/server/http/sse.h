// Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html).
#pragma once

#include <string>

#include "server/http/json.h"

namespace realizar::server {

// "data: {...}\n\n"
inline std::string sse(const Json& json) {
  return "data: " + dump(json) + "\n\n";
}

}  // namespace realizar::server
