#include "text/output/tool_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/json_text.h"
#include "base/printable.h"
#include "base/try.h"

namespace realizar::text {
namespace {

using Json = nlohmann::ordered_json;

// The rule of OpenAI's API; no format of a call spells such a name in two ways.
bool is_tool_name(const Json& name) {
  if (!name.is_string()) return false;
  const auto& text = name.get_ref<const std::string&>();
  return !text.empty() && text.size() <= kMaxToolNameBytes && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
  });
}

Error wrong(const std::string& field, const std::string& message) {
  return invalid_argument(field + ": " + message, field);
}

std::string spelled(const Json& json) {
  return shown(json_text(json));
}

}  // namespace

Result<ToolSpec> read_tool_spec(const Json& tool, const std::string& place) {
  const Json function = tool.value("function", Json());
  const Json name = function.is_object() ? function.value("name", Json()) : Json();
  if (!is_tool_name(name)) {
    return wrong(place + ".name",
                 fmt::format("expected 1 to {} letters, digits, _ and -, actual {}", kMaxToolNameBytes, spelled(name)));
  }
  const Json parameters = function.value("parameters", Json());
  if (!parameters.is_null() && !parameters.is_object()) {
    return wrong(place + ".parameters", "expected a JSON Schema");
  }
  return ToolSpec{name.get<std::string>(), parameters.is_null() ? Json::object() : parameters};
}

Result<std::vector<ToolSpec>> read_tool_specs(std::string_view tools_json) {
  const Json tools = Json::parse(tools_json, nullptr, false);
  if (!tools.is_array()) return wrong("tools", "expected a JSON array of tools");
  std::vector<ToolSpec> specs;
  for (size_t i = 0; i < tools.size(); ++i) {
    const std::string place = fmt::format("tools[{}]", i);
    if (!tools[i].is_object()) return wrong(place, "expected an object");
    if (tools[i].value("type", Json("function")) != "function") continue;
    RZ_TRY(specs.emplace_back(), read_tool_spec(tools[i], place + ".function"));
  }
  return specs;
}

}  // namespace realizar::text
