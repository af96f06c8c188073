// The tools of a chat, and whether the model must call one. Calls of tools of type custom have a text instead of
// arguments. Chat templates only know functions: the model sees such a tool as a function with one argument, the text.
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

// The name of the argument.
inline constexpr const char* kCustomInput = "input";

// Reads {"name", "description", "format"}. The format is {"type": "text"} or {"type": "grammar", "syntax": "lark" or
// "regex", "definition"}, whose last two may also be in a member "grammar". `where`: the location of `custom`. Errors:
// InvalidArgument, and Unsupported for unsupported parts of a grammar; both name the field.
Result<ChatTool> read_custom_tool(const Json& custom, const std::string& where);

// The text of a call while its arguments' JSON arrives, cut anywhere. Arguments of another kind are the text
// themselves.
class CustomInput {
 public:
  // The new part of the text.
  std::string push(const std::string& arguments);
  // The rest, at the end of the call.
  std::string finish();

 private:
  enum class State : uint8_t { kBefore, kInside, kAfter, kOther };
  std::string decoded();

  State state_ = State::kBefore;
  std::string held_;  // received, but not parsed yet
};

}  // namespace realizar::server
