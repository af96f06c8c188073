// JSON as Python's json module writes and reads it, made JSON as strict parsers take it. Every side file of a model
// passes here once before it is parsed.
#pragma once

#include <string>
#include <string_view>

namespace realizar {

// The same document without a byte order mark and with numbers of any parser: whole numbers written with a fraction or
// an exponent (256.0, 1e6) become integers, integers beyond 64 bits doubles, and numbers beyond doubles, as the words
// Infinity and -Infinity, the largest double. NaN becomes null, half of a surrogate pair U+FFFD. Other text that is not
// JSON stays as it is, for the parser to refuse.
std::string plain_json(std::string_view text);

}  // namespace realizar
