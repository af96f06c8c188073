// Makes text from outside safe for a message or a terminal: nothing in it moves the cursor, clears the screen, reorders
// text or hides from the reader.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace realizar {

enum class Lines { kOne, kMany };

// Spells out every invisible character and every byte that is not UTF-8: "\n", "\x1b", "\u{202e}", "\u{200b}".
// unseen_chars.txt lists these characters. kMany leaves line breaks and tabs as they are.
std::string printable(std::string_view text, Lines lines = Lines::kOne);

// The text of an answer, with line breaks and tabs: characters that scripts, emoji and formulas need stay as they are.
std::string printable_prose(std::string_view text);

// printable() of at most max_bytes of the text; longer text ends with its length: "abc... (5000 bytes)".
std::string shown(std::string_view text, size_t max_bytes = 100);

}  // namespace realizar
