// What the terminal can show, and the locale that its characters are read by.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace realizar::cli {

// Whether `fd` is a terminal that obeys escape sequences (TERM is set, and not "dumb").
bool obeys_escapes(int fd);
// Whether text there may have colours and weights: as above, unless NO_COLOR is set.
bool shows_styles(int fd);
// Its width; 80 where that is not known.
uint32_t terminal_columns(int fd);

// Characters are read as UTF-8 where the environment names no locale, or one that this machine lacks.
void use_utf8_locale();

enum class Style { kPlain, kBold, kDim, kRed };
// `text` in that style, where `fd` shows styles.
std::string styled(std::string_view text, Style style, int fd);

}  // namespace realizar::cli
