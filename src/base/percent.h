// Percent-encoding (RFC 3986, section 2.1).
#pragma once

#include <string>
#include <string_view>

namespace realizar {

// Decodes %41 to A; a % without two hexadecimal digits after it stays.
std::string percent_decoded(std::string_view text);
// Bytes that are not allowed in a path become %XX; "/" stays.
std::string percent_encoded(std::string_view path);

}  // namespace realizar
