// A warning for the client about schema keywords that are not enforced.
#pragma once

#include <span>
#include <string>

namespace realizar::server {

// "The answer is not held to '#/properties/tags/uniqueItems' of its schema.", in printable ASCII of at most about 500
// bytes; "": the whole schema is enforced.
std::string schema_warning(std::span<const std::string> left_out);

}  // namespace realizar::server
