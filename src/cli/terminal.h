// The terminal's abilities, and the locale for its characters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace realizar::cli {

// Whether `fd` is a terminal that interprets escape sequences (TERM is set, and not "dumb").
bool obeys_escapes(int fd);
// Whether text there may have colours and weights: as above, unless NO_COLOR is set.
bool shows_styles(int fd);
// Its width; 80 if unknown.
uint32_t terminal_columns(int fd);

// Reads characters as UTF-8 if the environment sets no locale, or one that this machine does not have.
void use_utf8_locale();

enum class Style { kPlain, kBold, kDim, kRed };
// `text` in that style, if `fd` supports styles.
std::string styled(std::string_view text, Style style, int fd);

}  // namespace realizar::cli
