// The spelling of byte strings in RWKV's vocabularies: Python's repr, without the enclosing quotes.
#pragma once

#include <string>
#include <string_view>

#include "realizar/result.h"

namespace realizar::text {

// The meaning of \xHH: a byte (Python's b'...'), or a character in UTF-8 (Python's '...', which also has \uHHHH and
// \UHHHHHHHH).
enum class Escapes { kBytes, kCharacters };

// The bytes spelled by `spelled`: \t, \n, \r and \xHH are escapes, and any other character after a backslash is itself.
// Errors: FormatError if an escape is incomplete or has no number.
Result<std::string> unescape(std::string_view spelled, Escapes escapes);

// The spelling of kBytes: printable ASCII as it is, backslashes doubled.
std::string escape(std::string_view bytes);

}  // namespace realizar::text
