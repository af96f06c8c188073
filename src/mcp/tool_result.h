// What a call of a tool gave, as text for a model.
#pragma once

#include <string>

#include "mcp/json_rpc.h"

namespace realizar::mcp {

struct ToolResult {
  std::string text;
  bool is_error = false;  // the tool's own word; the model is told
};

// The content of a tools/call result: texts, texts of embedded resources, else the structured content. What a model of
// texts cannot take (images, sounds, bytes) is named and left out; what is longer than 256 KB in all is cut with a word
// that says so. A tool that wants input before it gives a result has failed: nobody here is asked for it. Errors:
// FormatError for what is no such result.
Result<ToolResult> read_tool_result(const Json& result);

// A call that failed before its tool could say anything.
ToolResult failed_call(const std::string& message);

}  // namespace realizar::mcp
