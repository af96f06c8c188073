// The tools of a server, as models and people see them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mcp/json_rpc.h"

namespace realizar::mcp {

struct Tool {
  std::string name;         // the server's own
  std::string call_name;    // a model's: SERVER__TOOL, 1 to 64 letters, digits, _ and -; no other tool's
  std::string description;  // may be empty
  Json parameters;          // JSON Schema of the arguments: an object
};

struct ToolList {
  std::vector<Tool> tools;
  std::vector<std::string> notes;  // what was left out, and why; printable
};

// Whether a server may be called so: 1 to 32 letters, digits, _ and -, no two _ in a row and none at the end, so that
// SERVER__TOOL names one tool of all servers.
bool is_server_name(std::string_view name);

// What x-mcp-header in a schema means. kRefused: arguments that must be sent as headers too, which is not built here.
enum class ArgumentHeaders : uint8_t { kUnknown, kRefused };

// Takes the tools of one page of the server's list, up to 128 of all pages. What breaks the protocol, or cannot be
// called, is left out with a note. Errors: FormatError for a page that is none.
Status add_tools(ToolList& list, const std::string& server_name, const Json& page,
                 ArgumentHeaders headers = ArgumentHeaders::kUnknown);

// Which of the tools a model means: the one of that call name, else the only one whose name is that without its
// server's. Gives tools.size() where there is none, or several.
size_t find_tool(const std::vector<const Tool*>& tools, std::string_view name);
// The text that tells a model that a tool is not there, and which are.
std::string no_such_tool(const std::vector<const Tool*>& tools, std::string_view name);

// The tools as OpenAI's API has them, which templates of models know.
Json tools_json(const std::vector<Tool>& tools);

// The outcome of a tool's call, as text for a model.
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
