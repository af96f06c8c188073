// The tools of a chat: which there are, and whether the model must call one.
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
  Json json;               // for the template: as the request has it, or the function that a custom tool becomes
  std::string place;       // of the schema of its arguments, for errors: "tools[2].function.parameters"
  bool is_strict = false;  // its schema must be kept to whole, or the request is refused
  bool is_custom = false;  // its calls have a text in place of arguments
  std::shared_ptr<const grammar::RuleSet> input = {};  // what that text must be; null: anything
};

struct ToolChoice {
  enum class Mode { kAuto, kNone, kRequired } mode = Mode::kAuto;
  std::optional<std::vector<std::string>> allowed = {};  // nullopt: all
  std::string only = {};                                 // where it is required: this one; "": any
  std::string field = "tool_choice";                     // that says it, for errors
};

struct ChatTools {
  std::vector<ChatTool> tools;  // that the model is told of; none where it may call none
  bool must_call = false;
  std::string only;             // where it must call: this one; "": any
  std::string field = "tools";  // that has them, for errors

  std::vector<text::ToolSpec> specs() const;
  // Those of which one must be called, or may be. They point to `tools`.
  std::vector<text::RequiredTool> callable() const;
  std::vector<std::string> custom_names() const;
  // Whether the input of some tool has a grammar.
  bool has_input_grammar() const;
  // Leaves the tools that the choice allows. Errors: InvalidArgument naming its field.
  Status choose(const ToolChoice& choice);
};

// A tool that is a function: {"type": "function", "function": {name, description, parameters, strict}}. `where`: the
// place of what is under "function" here. Errors: InvalidArgument naming the field.
Result<ChatTool> read_function_tool(Json tool, const std::string& where);

// "none", "auto", "required", or as an object {"type": "function", "function": {"name"}}, the same of a custom tool, or
// {"type": "allowed_tools", "allowed_tools": {mode, tools}}. `field` has it. Errors: InvalidArgument naming the field.
Result<ToolChoice> read_tool_choice(const Json& choice, const std::string& field);
Error wrong_tool_choice(const std::string& field);

// The name of the tool that an object means; nullopt: a tool of another kind, which no model here can call.
using ToolNameReader = std::function<Result<std::optional<std::string>>(const Json& tool)>;
// {mode, tools}
Result<ToolChoice> read_allowed_tools(const Json& allowed, const std::string& field, const ToolNameReader& name_of);

}  // namespace realizar::server
