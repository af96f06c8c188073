// Tools of the type custom, whose calls have a text in place of arguments. Chat templates know functions alone: a model
// sees such a tool as a function with one argument, the text.
#pragma once

#include <string>

#include "server/call/chat_tools.h"
#include "server/http/json.h"

namespace realizar::server {

// The argument's name.
inline constexpr const char* kCustomInput = "input";

// Reads {"name", "description", "format"}. The format is {"type": "text"} or {"type": "grammar", "syntax": "lark" or
// "regex", "definition"}, whose last two may also stand in a member "grammar". `where`: the place of `custom`. Errors:
// InvalidArgument, and Unsupported for what of a grammar is not built; both name the field.
Result<ChatTool> read_custom_tool(const Json& custom, const std::string& where);

// The text of a call while its arguments' JSON arrives, cut anywhere. Arguments of another kind are the text
// themselves.
class CustomInput {
 public:
  // What is new of the text.
  std::string push(const std::string& arguments);
  // What was held back, at the end of the call.
  std::string finish();

 private:
  enum class State : uint8_t { kBefore, kInside, kAfter, kOther };
  std::string decoded();

  State state_ = State::kBefore;
  std::string held_;  // what has come and is not yet understood
};

}  // namespace realizar::server
