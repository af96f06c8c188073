// Where characters of UTF-8 begin.
#pragma once

#include <cstdint>

namespace realizar {

// Whether the byte is one after the first of a character.
constexpr bool continues_character(char byte) {
  return (static_cast<uint8_t>(byte) & 0xC0) == 0x80;
}

}  // namespace realizar
