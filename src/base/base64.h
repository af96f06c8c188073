// Base64 (RFC 4648, section 4).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace realizar {

std::string encode_base64(std::string_view bytes);
// Tolerant like the files of vocabularies: line breaks and missing padding are accepted. Nullopt if a character is not
// in the alphabet.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace realizar
