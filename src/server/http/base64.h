// Base64 (RFC 4648, section 4).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace realizar::server {

std::string base64_of(std::string_view bytes);
// Nullopt for what is not base64 with its padding.
std::optional<std::string> bytes_of_base64(std::string_view text);

}  // namespace realizar::server
