// Parses tokens to a tree, by recursive descent with Jinja's precedences.
#pragma once

#include <string_view>

#include "text/jinja/ast.h"

namespace realizar::text::jinja {

// Throws TemplateError with the line.
Body parse(std::string_view source);

}  // namespace realizar::text::jinja
