// Go's text/template over Ollama's variables: its text and actions as Jinja.
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

// Text and actions in turn, trimmed as the actions' marks say; no comments.
Result<std::vector<GoNode>> parse_go_template(std::string_view source);

// Whether an action has these letters.
bool names_field(const std::vector<GoNode>& nodes, std::string_view field);

// Jinja that prints what they print; kGoMacros are to stand before it. `ends_at_response`: nothing follows the place of
// the answer, and what is open there is closed.
Result<std::string> jinja_of_go_nodes(const std::vector<GoNode>& nodes, bool ends_at_response);

}  // namespace realizar::text
