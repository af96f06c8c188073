// Converts JSON as Python's json module writes and reads it to JSON that strict parsers accept. Every JSON file of a
// model passes through here once before it is parsed.
#pragma once

#include <string>
#include <string_view>

namespace realizar {

// Returns the document without a byte order mark, and with numbers that every parser accepts: whole numbers with a
// fraction or an exponent (256.0, 1e6) become integers, integers beyond 64 bits become doubles, and numbers beyond
// double, including Infinity and -Infinity, become the largest double. NaN becomes null, half of a surrogate pair
// U+FFFD. Text that is not JSON otherwise stays as it is, for the parser to refuse.
std::string plain_json(std::string_view text);

}  // namespace realizar
