// Values of JSON Schema's `format` as GBNF for the inside of a JSON string. None contains a character that JSON
// escapes.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "grammar/pattern.h"

namespace realizar::grammar {

struct StringFormat {
  std::string_view name;
  std::string_view gbnf;
  LengthRange lengths;
  // Subsets for strings with a smaller maximum length, the larger first: no text of a subset is longer than its
  // `length`. "": no such subset.
  struct Part {
    std::string_view gbnf = "";
    uint64_t length = 0;
  };
  std::array<Part, 2> parts = {};
};

// nullptr for formats that are only annotations here.
const StringFormat* find_format(std::string_view name);

}  // namespace realizar::grammar
