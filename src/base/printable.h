// Text from outside as it may stand in a message or on a terminal: nothing in it moves a cursor, clears a screen or
// reorders what is read.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace realizar {

enum class Lines { kOne, kMany };

// Control characters (C0, DEL, C1), bytes that are no UTF-8 and the marks that change the direction of text are spelled
// out: "\n", "\x1b", "\u{202e}". kMany leaves line breaks and tabs as they are.
std::string printable(std::string_view text, Lines lines = Lines::kOne);

// The same of at most max_bytes of the text; where there is more, its length is told: "abc... (5000 bytes)".
std::string shown(std::string_view text, size_t max_bytes = 100);

}  // namespace realizar
