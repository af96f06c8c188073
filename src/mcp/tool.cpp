#include "mcp/tool.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"

namespace realizar::mcp {
namespace {

constexpr size_t kMaxTools = 128;
constexpr size_t kMaxNameBytes = 128;     // of a server's own name of a tool
constexpr size_t kMaxCallNameBytes = 64;  // of the name that models get
constexpr size_t kMaxServerNameBytes = 32;
constexpr size_t kMaxDescriptionBytes = 8u << 10;
constexpr size_t kMaxSchemaBytes = 32u << 10;

bool is_name_char(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
}

// As the protocol has it: letters, digits, _, - and the dot.
bool is_tool_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameBytes &&
         std::ranges::all_of(name, [](char c) { return is_name_char(c) || c == '.'; });
}

bool is_taken(const std::vector<Tool>& tools, std::string_view call_name) {
  return std::ranges::any_of(tools, [&](const Tool& tool) { return tool.call_name == call_name; });
}

std::string call_name_of(const std::vector<Tool>& others, const std::string& server_name, std::string_view name) {
  std::string plain = server_name + "__";
  for (const char c : name) plain += is_name_char(c) ? c : '_';
  plain = plain.substr(0, kMaxCallNameBytes);
  std::string call_name = plain;
  for (int i = 2; is_taken(others, call_name); ++i) {
    const std::string suffix = fmt::format("_{}", i);
    call_name = plain.substr(0, kMaxCallNameBytes - suffix.size()) + suffix;
  }
  return call_name;
}

// What is wrong with a tool; "": nothing.
std::string complaint(const ToolList& list, const Json& json, ArgumentHeaders headers) {
  const Json name = json.value("name", Json()), description = json.value("description", Json());
  const Json schema = json.value("inputSchema", Json());
  if (!name.is_string() || !is_tool_name(name.get_ref<const std::string&>())) {
    return fmt::format("its name is not 1 to {} letters, digits, '_', '-' and '.'", kMaxNameBytes);
  }
  if (std::ranges::any_of(list.tools, [&](const Tool& tool) { return tool.name == name; })) return "it is there twice";
  if (!description.is_null() && !description.is_string()) return "its description is no text";
  if (description.is_string() && description.get_ref<const std::string&>().size() > kMaxDescriptionBytes) {
    return fmt::format("its description is longer than {} bytes", kMaxDescriptionBytes);
  }
  if (!schema.is_object() || schema.value("type", Json()) != "object") return "its inputSchema is not of type object";
  if (headers == ArgumentHeaders::kRefused && dump(schema).find("\"x-mcp-header\"") != std::string::npos) {
    return "it wants arguments as headers, which is not built here";
  }
  if (dump(schema).size() > kMaxSchemaBytes)
    return fmt::format("its inputSchema is longer than {} bytes", kMaxSchemaBytes);
  return list.tools.size() == kMaxTools ? fmt::format("the server has more than {} tools", kMaxTools) : "";
}

void add_tool(ToolList& list, const std::string& server_name, const Json& json, ArgumentHeaders headers) {
  const Json name = json.is_object() ? json.value("name", Json()) : Json();
  const std::string why = json.is_object() ? complaint(list, json, headers) : "it is no object";
  if (!why.empty()) {
    list.notes.push_back(fmt::format("{}: a tool is left out, {}: {}", server_name, shown(dump(name)), why));
    return;
  }
  const Json description = json.value("description", Json());
  list.tools.push_back({name, call_name_of(list.tools, server_name, name.get_ref<const std::string&>()),
                        description.is_string() ? description.get<std::string>() : "", json["inputSchema"]});
}

}  // namespace

bool is_server_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxServerNameBytes && std::ranges::all_of(name, is_name_char) &&
         name.find("__") == std::string_view::npos && !name.ends_with('_');
}

Status add_tools(ToolList& list, const std::string& server_name, const Json& page, ArgumentHeaders headers) {
  const Json tools = page.is_object() ? page.value("tools", Json()) : Json();
  if (!tools.is_array()) return format_error("the server's list of tools is no list", "answer");
  for (const Json& tool : tools) {
    // One note for all that is too much.
    if (list.tools.size() == kMaxTools && !list.notes.empty() && list.notes.back().ends_with(" tools")) break;
    add_tool(list, server_name, tool, headers);
  }
  return {};
}

size_t find_tool(const std::vector<const Tool*>& tools, std::string_view name) {
  const auto exact = std::ranges::find_if(tools, [&](const Tool* tool) { return tool->call_name == name; });
  if (exact != tools.end()) return static_cast<size_t>(exact - tools.begin());
  const auto is_meant = [&](const Tool* tool) {
    return tool->name == name || std::string_view(tool->call_name).substr(tool->call_name.find("__") + 2) == name;
  };
  if (std::ranges::count_if(tools, is_meant) != 1) return tools.size();
  return static_cast<size_t>(std::ranges::find_if(tools, is_meant) - tools.begin());
}

std::string no_such_tool(const std::vector<const Tool*>& tools, std::string_view name) {
  constexpr size_t kMaxTold = 32;
  std::string told;
  for (size_t i = 0; i < std::min(tools.size(), kMaxTold); ++i) told += (i == 0 ? "" : ", ") + tools[i]->call_name;
  if (tools.size() > kMaxTold) told += fmt::format(" and {} more", tools.size() - kMaxTold);
  return fmt::format("there is no tool called {}; the tools are {}", name, told);
}

Json tools_json(const std::vector<Tool>& tools) {
  Json all = Json::array();
  for (const Tool& tool : tools) {
    all.push_back(
        {{"type", "function"},
         {"function", {{"name", tool.call_name}, {"description", tool.description}, {"parameters", tool.parameters}}}});
  }
  return all;
}

}  // namespace realizar::mcp
