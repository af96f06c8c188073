#include "server/http/sse.h"

namespace realizar::server {

std::string sse(const Json& json) {
  return "data: " + dump(json) + "\n\n";
}

}  // namespace realizar::server
