// Tools of type custom, whose calls have a text instead of arguments. Chat templates only know functions: the model
// sees such a tool as a function with one argument, the text.
#pragma once

#include <string>

#include "server/call/chat_tools.h"
#include "server/http/json.h"

namespace realizar::server {

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
