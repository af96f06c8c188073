// GPT-2's spelling of bytes: each of the 256 bytes is written as one printable character, so that a vocabulary of byte
// strings can be stored as text. Printable Latin-1 bytes represent themselves, the others are U+0100 and up, in order.
// (Radford et al. 2019, section 2.2; the table is that of GPT-2's vocabulary.)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "realizar/result.h"

namespace realizar::text {

// The UTF-8 spelling of `byte`, e.g. "Ġ" for a space.
std::string_view spell_byte(uint8_t byte);
void append_spelled(std::string& out, std::string_view bytes);
// The bytes spelled by `piece`; nullopt if one of its characters is not in the alphabet.
std::optional<std::string> unspell_bytes(std::string_view piece);

// RWKV's spelling of byte strings: Python's repr, without the enclosing quotes.

// The meaning of \xHH: a byte (Python's b'...'), or a character in UTF-8 (Python's '...', which also has \uHHHH and
// \UHHHHHHHH).
enum class Escapes { kBytes, kCharacters };

// The bytes spelled by `spelled`: \t, \n, \r and \xHH are escapes, and any other character after a backslash is itself.
// Errors: FormatError if an escape is incomplete or has no number.
Result<std::string> unescape(std::string_view spelled, Escapes escapes);

// The spelling of kBytes: printable ASCII as it is, backslashes doubled.
std::string escape(std::string_view bytes);

}  // namespace realizar::text
