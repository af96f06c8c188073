// Percent-encoding (RFC 3986, section 2.1).
#pragma once

#include <string>
#include <string_view>

namespace realizar {

// %41 becomes A; a % that no two hexadecimal digits follow stays.
std::string percent_decoded(std::string_view text);
// Bytes that may not stand in a path become %XX; "/" stays.
std::string percent_encoded(std::string_view path);

}  // namespace realizar
