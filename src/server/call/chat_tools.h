// The tools of a chat, and whether the model must call one.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/http/json.h"
#include "text/output/output_parser.h"
#include "text/output/required_calls.h"

namespace realizar::server {

struct ChatTool {
  text::ToolSpec spec;
  Json json;               // for the template: from the request, or the function that replaces a custom tool
  std::string place;       // location of its arguments' schema, for errors: "tools[2].function.parameters"
  bool is_strict = false;  // its whole schema must be enforced, or the request is refused
  bool is_custom = false;  // its calls have a text instead of arguments
  std::shared_ptr<const grammar::RuleSet> input = {};  // the grammar of that text; null: any text
};

struct ToolChoice {
  enum class Mode { kAuto, kNone, kRequired } mode = Mode::kAuto;
  std::optional<std::vector<std::string>> allowed = {};  // nullopt: all
  std::string only = {};                                 // if a call is required: of this tool; "": any
  std::string field = "tool_choice";                     // name of the field, for errors
};

struct ChatTools {
  std::vector<ChatTool> tools;  // described to the model; empty if it must not call any
  bool must_call = false;
  std::string only;             // if a call is required: of this tool; "": any
  std::string field = "tools";  // name of the field, for errors

  std::vector<text::ToolSpec> specs() const;
  // The tools of which one must, or may, be called. They point to `tools`.
  std::vector<text::RequiredTool> callable() const;
  std::vector<std::string> custom_names() const;
  // Whether the input of some tool has a grammar.
  bool has_input_grammar() const;
  // Removes the tools that the choice does not allow. Errors: InvalidArgument naming its field.
  Status choose(const ToolChoice& choice);
};

// A function tool: {"type": "function", "function": {name, description, parameters, strict}}. `where`: the location of
// the "function" content here. Errors: InvalidArgument naming the field.
Result<ChatTool> read_function_tool(Json tool, const std::string& where);

// "none", "auto", "required", or an object {"type": "function", "function": {"name"}}, likewise for a custom tool, or
// {"type": "allowed_tools", "allowed_tools": {mode, tools}}. `field`: its name. Errors: InvalidArgument naming the
// field.
Result<ToolChoice> read_tool_choice(const Json& choice, const std::string& field);
Error wrong_tool_choice(const std::string& field);

// The name of the tool in an object; nullopt: a tool of another kind, which no model here can call.
using ToolNameReader = std::function<Result<std::optional<std::string>>(const Json& tool)>;
// {mode, tools}
Result<ToolChoice> read_allowed_tools(const Json& allowed, const std::string& field, const ToolNameReader& name_of);

}  // namespace realizar::server
