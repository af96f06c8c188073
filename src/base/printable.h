// Text from outside as it may stand in a message or on a terminal: nothing in it moves a cursor, clears a screen,
// reorders what is read or hides from who reads it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace realizar {

enum class Lines { kOne, kMany };

// Everything that is not seen is spelled out, and so are bytes that are no UTF-8: "\n", "\x1b", "\u{202e}", "\u{200b}".
// unseen_chars.txt lists these characters. kMany leaves line breaks and tabs as they are.
std::string printable(std::string_view text, Lines lines = Lines::kOne);

// The text of an answer, line breaks and tabs included: what scripts, emoji and formulas need stays as it is.
std::string printable_prose(std::string_view text);

// printable() of at most max_bytes of the text; where there is more, its length is told: "abc... (5000 bytes)".
std::string shown(std::string_view text, size_t max_bytes = 100);

}  // namespace realizar
