// Values of JSON Schema's `format` as GBNF of the inside of a JSON string. None holds a character that JSON escapes.
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
  // Parts of it for strings that may not be that long, the larger first: none of the texts of a part is longer than its
  // `length`. "": there is no such part.
  struct Part {
    std::string_view gbnf = "";
    uint64_t length = 0;
  };
  std::array<Part, 2> parts = {};
};

// nullptr for formats that are annotations here.
const StringFormat* find_format(std::string_view name);

}  // namespace realizar::grammar
