// JSON Schema's `format` values as GBNF for the inside of a JSON string. They contain no character that JSON escapes.
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
  // Subsets for smaller maximum lengths, larger ones first: no text of a subset exceeds its `length`. "": none.
  struct Part {
    std::string_view gbnf = "";
    uint64_t length = 0;
  };
  std::array<Part, 2> parts = {};
};

// nullptr for formats that are treated as annotations.
const StringFormat* find_format(std::string_view name);

}  // namespace realizar::grammar
