// The tools of a server, in the form for models and users.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mcp/json_rpc.h"

namespace realizar::mcp {

struct Tool {
  std::string name;         // on the server
  std::string call_name;    // for models: SERVER__TOOL, 1 to 64 letters, digits, _ and -; unique
  std::string description;  // may be empty
  Json parameters;          // JSON Schema of the arguments: an object
};

struct ToolList {
  std::vector<Tool> tools;
  std::vector<std::string> notes;  // skipped tools, and why; printable
};

// Whether a name is acceptable for a server: 1 to 32 letters, digits, _ and -, no two _ in a row and none at the end,
// so that SERVER__TOOL is unique across servers.
bool is_server_name(std::string_view name);

// How to treat x-mcp-header in a schema. kRefused: arguments that must also be sent as headers, which is not supported.
enum class ArgumentHeaders : uint8_t { kUnknown, kRefused };

// Adds the tools of one page of the server's list, up to 128 over all pages. Tools that violate the protocol, or cannot
// be called, are skipped with a note. Errors: FormatError for a malformed page.
Status add_tools(ToolList& list, const std::string& server_name, const Json& page,
                 ArgumentHeaders headers = ArgumentHeaders::kUnknown);

// The index of the tool that a model means: the one with that call name, else the only one whose name without its
// server's matches. Returns tools.size() if there is none, or several.
size_t find_tool(const std::vector<const Tool*>& tools, std::string_view name);
// A text that tells a model that a tool does not exist, and which ones do.
std::string no_such_tool(const std::vector<const Tool*>& tools, std::string_view name);

// The tools in the format of OpenAI's API, which models' templates expect.
Json tools_json(const std::vector<Tool>& tools);

// The result of a tool call, as text for a model.
struct ToolResult {
  std::string text;
  bool is_error = false;  // set by the tool; the model is told
};

// The content of a tools/call result: texts, texts of embedded resources, else the structured content. Content that a
// text model cannot use (images, sounds, bytes) is mentioned but dropped; text beyond 256 KB in total is cut, with a
// remark. A tool that requests user input has failed: there is nobody to ask. Errors: FormatError for a malformed
// result.
Result<ToolResult> read_tool_result(const Json& result);

// The result for a call that failed before its tool could answer.
ToolResult failed_call(const std::string& message);

}  // namespace realizar::mcp
