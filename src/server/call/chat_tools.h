// The tools of a chat: which there are, and whether the model must call one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/http/json.h"
#include "text/output/output_parser.h"
#include "text/output/required_calls.h"

namespace realizar::server {

struct ChatTool {
  text::ToolSpec spec;
  Json json;               // for the template: as the request has it, or the function that a custom tool becomes
  std::string place;       // "tools[2]"
  bool is_strict = false;  // its schema must be kept to whole, or the request is refused
  bool is_custom = false;  // its calls have a text in place of arguments
  std::shared_ptr<const grammar::RuleSet> input = {};  // what that text must be; null: anything
};

struct ChatTools {
  std::vector<ChatTool> tools;  // that the model is told of; none where it may call none
  bool must_call = false;
  std::string only;  // where it must call: this one; "": any

  std::vector<text::ToolSpec> specs() const;
  // Those of which one must be called, or may be. They point to `tools`.
  std::vector<text::RequiredTool> callable() const;
  std::vector<std::string> custom_names() const;
  // Whether the input of some tool has a grammar.
  bool has_input_grammar() const;
};

// Reads tools and tool_choice. Tools that are neither functions nor custom (web_search ...) are left out, since no
// model here can call them. Errors: InvalidArgument naming the field, and those of read_custom_tool.
Result<ChatTools> read_chat_tools(Fields& body);

}  // namespace realizar::server
