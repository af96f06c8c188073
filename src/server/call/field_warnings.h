// Unused fields of a body that look like typos of used ones.
#pragma once

#include <string>
#include <vector>

#include "server/http/json.h"

namespace realizar::server {

// "'temprature' is not a field; did you mean 'temperature'?", concatenated for all of them, in printable ASCII of at
// most about 500 bytes; "": no such field. `body` is an object.
std::string field_warnings(const Json& body);
// The names of all fields in any dialect, sorted: these are not typos.
const std::vector<std::string>& known_fields();

}  // namespace realizar::server
