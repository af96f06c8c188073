// The tools of a chat: which there are, and whether the model must call one.
#pragma once

#include <string>
#include <vector>

#include "server/json.h"
#include "text/output/output_parser.h"
#include "text/output/required_calls.h"

namespace realizar::server {

struct ChatTool {
  text::ToolSpec spec;
  Json json;               // as the request has it, for the template
  std::string place;       // "tools[2]"
  bool is_strict = false;  // its schema must be kept to whole, or the request is refused
};

struct ChatTools {
  std::vector<ChatTool> tools;  // that the model is told of; none where it may call none
  bool must_call = false;
  std::string only;  // where it must call: this one; "": any

  std::vector<text::ToolSpec> specs() const;
  // Those of which one must be called. They point to `tools`.
  std::vector<text::RequiredTool> required() const;
};

// Reads tools and tool_choice. Tools that are no functions (custom, web_search ...) are left out, since no
// model here can call them. Errors: InvalidArgument naming the field.
Result<ChatTools> read_chat_tools(Fields& body);

}  // namespace realizar::server
