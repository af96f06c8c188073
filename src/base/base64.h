// Base64 (RFC 4648, section 4).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace realizar {

std::string encode_base64(std::string_view bytes);
// As vocabularies have it: line breaks and missing padding are let pass. Nullopt where a character is none of the
// alphabet's.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace realizar
