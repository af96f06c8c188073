// Translates Go's text/template over Ollama's variables to Jinja: its text and actions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "realizar/result.h"

namespace realizar::text {

struct GoNode {
  bool is_text = false;
  std::string text;  // or the action between its braces
};

// Alternating text and actions, trimmed by the actions' marks, without comments.
Result<std::vector<GoNode>> parse_go_template(std::string_view source);

// Whether an action contains this text.
bool names_field(const std::vector<GoNode>& nodes, std::string_view field);

// Jinja with the same output; kGoMacros must come before it. `ends_at_response`: the template ends at the answer's
// position, where open blocks are closed.
Result<std::string> jinja_of_go_nodes(const std::vector<GoNode>& nodes, bool ends_at_response);

}  // namespace realizar::text
