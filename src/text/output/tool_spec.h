// A tool that a chat model may call, with what is needed to parse its calls.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "realizar/result.h"

namespace realizar::text {

inline constexpr size_t kMaxToolNameBytes = 64;

struct ToolSpec {
  std::string name;
  nlohmann::ordered_json parameters;  // JSON Schema of the arguments object; types the arguments of XML-like formats
};

// Reads the member "function" of a tool in the format of OpenAI's API. `place`: the function's location for the client,
// e.g. "tools[2].function", for messages. Errors: InvalidArgument whose subject is the field.
Result<ToolSpec> read_tool_spec(const nlohmann::ordered_json& tool, const std::string& place);
// The tools in a JSON array; tools that are not functions are left out. Errors: InvalidArgument.
Result<std::vector<ToolSpec>> read_tool_specs(std::string_view tools_json);

}  // namespace realizar::text
