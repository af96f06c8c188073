// Fields of a body that nobody reads, and that look like a slip of one that somebody reads.
#pragma once

#include <string>
#include <vector>

#include "server/http/json.h"

namespace realizar::server {

// "'temprature' is no field; did you mean 'temperature'?", one after the other, in printable ASCII of at most some 500
// bytes; "": no field is such a slip. `body` is an object.
std::string field_warnings(const Json& body);
// The names of all fields that some dialect has, sorted: such a field means something elsewhere.
const std::vector<std::string>& known_fields();

}  // namespace realizar::server
