// Keywords of a schema that an answer is not held to, for its client.
#pragma once

#include <span>
#include <string>

namespace realizar::server {

// "The answer is not held to '#/properties/tags/uniqueItems' of its schema.", in printable ASCII of at most some 500
// bytes; "": it is held to the whole schema.
std::string schema_warning(std::span<const std::string> left_out);

}  // namespace realizar::server
