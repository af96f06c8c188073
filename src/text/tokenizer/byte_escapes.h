// How RWKV's vocabularies spell byte strings: as Python's repr writes them, without the quotes around them.
#pragma once

#include <string>
#include <string_view>

#include "realizar/result.h"

namespace realizar::text {

// What \xHH stands for: a byte (Python's b'...'), or a character in UTF-8 (Python's '...', which also has \uHHHH and
// \UHHHHHHHH).
enum class Escapes { kBytes, kCharacters };

// The bytes that `spelled` stands for: \t, \n, \r and \xHH are escapes, and any other character after a backslash is
// itself. Errors: FormatError, where an escape is cut off or has no number.
Result<std::string> unescape(std::string_view spelled, Escapes escapes);

// The spelling of kBytes: printable ASCII as it is, a backslash twice.
std::string escape(std::string_view bytes);

}  // namespace realizar::text
