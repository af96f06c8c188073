// Values of JSON Schema's `format` as GBNF of the inside of a JSON string. None holds a character that JSON escapes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "grammar/pattern.h"

namespace realizar::grammar {

struct StringFormat {
  std::string_view name;
  std::string_view gbnf;
  LengthRange lengths;
};

// nullptr for formats that are annotations here.
const StringFormat* find_format(std::string_view name);

}  // namespace realizar::grammar
