// Character boundaries in UTF-8.
#pragma once

#include <cstdint>

namespace realizar {

// Whether the byte continues a character rather than beginning one.
constexpr bool continues_character(char byte) {
  return (static_cast<uint8_t>(byte) & 0xC0) == 0x80;
}

}  // namespace realizar
