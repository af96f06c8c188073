#include "mcp/tool.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/json_text.h"
#include "base/printable.h"

namespace realizar::mcp {
namespace {

constexpr size_t kMaxTools = 128;
constexpr size_t kMaxNameBytes = 128;     // for a tool's name on its server
constexpr size_t kMaxCallNameBytes = 64;  // for the name given to models
constexpr size_t kMaxServerNameBytes = 32;
constexpr size_t kMaxDescriptionBytes = 8u << 10;
constexpr size_t kMaxSchemaBytes = 32u << 10;

bool is_name_char(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
}

// The protocol's characters: letters, digits, _, - and the dot.
bool is_tool_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameBytes &&
         std::ranges::all_of(name, [](char c) { return is_name_char(c) || c == '.'; });
}

std::string plain_call_name(const std::string& server_name, std::string_view name) {
  std::string plain = server_name + "__";
  for (const char c : name) plain += is_name_char(c) ? c : '_';
  return plain.substr(0, kMaxCallNameBytes);
}

// FNV-1a, the same in every run.
uint64_t hash_of(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

std::string hashed_call_name(const std::string& plain, std::string_view name) {
  const std::string suffix = fmt::format("_{:016x}", hash_of(name));
  return plain.substr(0, kMaxCallNameBytes - suffix.size()) + suffix;
}

// A call name always refers to the same tool, regardless of the order in which the server lists them, since users allow
// calls by it: a name that models can use unchanged is kept; if several would become the same name, each of them gets a
// hash.
void name_calls(ToolList& list, const std::string& server_name) {
  std::map<std::string, size_t> n_of_plain;
  for (const Tool& tool : list.tools) ++n_of_plain[plain_call_name(server_name, tool.name)];
  const auto is_exact = [&](const Tool& tool) { return tool.call_name == server_name + "__" + tool.name; };
  for (Tool& tool : list.tools) {
    tool.call_name = plain_call_name(server_name, tool.name);
    if (n_of_plain[tool.call_name] > 1 && !is_exact(tool)) {
      tool.call_name = hashed_call_name(tool.call_name, tool.name);
    }
  }
  // A server may have a tool whose own name equals what another's would become.
  std::map<std::string, size_t> n_of_name;
  for (const Tool& tool : list.tools) ++n_of_name[tool.call_name];
  std::erase_if(list.tools, [&](const Tool& tool) {
    const bool is_ambiguous = n_of_name[tool.call_name] > 1 && !is_exact(tool);
    if (is_ambiguous)
      list.notes.push_back(fmt::format("{}: a tool is ignored, {}: another tool has the same name in calls",
                                       server_name, shown(tool.name)));
    return is_ambiguous;
  });
}

// The problem with a tool; "": none.
std::string complaint(const ToolList& list, const Json& json, ArgumentHeaders headers) {
  const Json name = json.value("name", Json()), description = json.value("description", Json());
  const Json schema = json.value("inputSchema", Json());
  if (!name.is_string() || !is_tool_name(name.get_ref<const std::string&>())) {
    return fmt::format("its name is not 1 to {} letters, digits, '_', '-' and '.'", kMaxNameBytes);
  }
  if (std::ranges::any_of(list.tools, [&](const Tool& tool) { return tool.name == name; })) return "it is listed twice";
  if (!description.is_null() && !description.is_string()) return "its description is not a text";
  if (description.is_string() && description.get_ref<const std::string&>().size() > kMaxDescriptionBytes) {
    return fmt::format("its description is longer than {} bytes", kMaxDescriptionBytes);
  }
  if (!schema.is_object() || schema.value("type", Json()) != "object") return "its inputSchema is not of type object";
  if (headers == ArgumentHeaders::kRefused && json_text(schema).find("\"x-mcp-header\"") != std::string::npos) {
    return "it requires arguments as headers, which is not supported";
  }
  if (json_text(schema).size() > kMaxSchemaBytes)
    return fmt::format("its inputSchema is longer than {} bytes", kMaxSchemaBytes);
  return list.tools.size() == kMaxTools ? fmt::format("the server has more than {} tools", kMaxTools) : "";
}

void add_tool(ToolList& list, const std::string& server_name, const Json& json, ArgumentHeaders headers) {
  const Json name = json.is_object() ? json.value("name", Json()) : Json();
  const std::string why = json.is_object() ? complaint(list, json, headers) : "it is not an object";
  if (!why.empty()) {
    list.notes.push_back(fmt::format("{}: a tool is ignored, {}: {}", server_name, shown(json_text(name)), why));
    return;
  }
  const Json description = json.value("description", Json());
  list.tools.push_back({name, "", description.is_string() ? description.get<std::string>() : "", json["inputSchema"]});
}

constexpr size_t kMaxTextBytes = 256u << 10;

std::string text_of(const Json& object, const char* member) {
  const Json value = object.is_object() ? object.value(member, Json()) : Json();
  return value.is_string() ? value.get<std::string>() : "";
}

std::string left_out(const std::string& what, const std::string& type) {
  return fmt::format("[{}{} is left out: only text can be read here]", what,
                     type.empty() ? "" : " (" + shown(type) + ")");
}

std::string resource_text(const Json& block) {
  const Json resource = block.value("resource", Json());
  const std::string uri = shown(text_of(resource, "uri"), 1000);
  const bool has_text = resource.is_object() && resource.value("text", Json()).is_string();
  if (!has_text) return left_out("the resource " + uri, text_of(resource, "mimeType"));
  return uri + ":\n" + text_of(resource, "text");
}

std::string block_text(const Json& block) {
  const std::string type = text_of(block, "type");
  if (type == "text") return text_of(block, "text");
  if (type == "resource") return resource_text(block);
  if (type == "resource_link") {
    const std::string description = text_of(block, "description");
    return fmt::format("[a link to {}: {}{}]", shown(text_of(block, "name")), shown(text_of(block, "uri"), 1000),
                       description.empty() ? "" : ", " + shown(description, 1000));
  }
  if (type == "image") return left_out("an image", text_of(block, "mimeType"));
  if (type == "audio") return left_out("a sound", text_of(block, "mimeType"));
  return left_out("content of the type '" + shown(type) + "'", "");
}

// Does not cut within a character.
std::string cut(std::string text) {
  const size_t n_bytes = text.size();
  if (n_bytes <= kMaxTextBytes) return text;
  size_t n_kept = kMaxTextBytes;
  while (n_kept > 0 && (static_cast<uint8_t>(text[n_kept]) & 0xc0) == 0x80) --n_kept;
  text.resize(n_kept);
  return text + fmt::format("\n[cut here: the result has {} bytes]", n_bytes);
}

}  // namespace

bool is_server_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxServerNameBytes && std::ranges::all_of(name, is_name_char) &&
         name.find("__") == std::string_view::npos && !name.ends_with('_');
}

Status add_tools(ToolList& list, const std::string& server_name, const Json& page, ArgumentHeaders headers) {
  const Json tools = page.is_object() ? page.value("tools", Json()) : Json();
  if (!tools.is_array()) return format_error("the server's list of tools is not a list", "answer");
  for (const Json& tool : tools) {
    // A single note for all excess tools.
    if (list.tools.size() == kMaxTools && !list.notes.empty() && list.notes.back().ends_with(" tools")) break;
    add_tool(list, server_name, tool, headers);
  }
  name_calls(list, server_name);
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
  constexpr size_t kMaxListed = 32;
  std::string names;
  for (size_t i = 0; i < std::min(tools.size(), kMaxListed); ++i) names += (i == 0 ? "" : ", ") + tools[i]->call_name;
  if (tools.size() > kMaxListed) names += fmt::format(" and {} more", tools.size() - kMaxListed);
  return fmt::format("there is no tool called {}; the tools are {}", name, names);
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

Result<ToolResult> read_tool_result(const Json& result) {
  const Json type = result.is_object() ? result.value("resultType", Json()) : Json();
  if (type == "input_required") return failed_call("the tool requires further input, which cannot be given here");
  if (!type.is_null() && type != "complete") return format_error("its result is of an unknown type", "answer");
  const Json content = result.is_object() ? result.value("content", Json::array()) : Json();
  if (!content.is_array()) return format_error("the result of the tool has no list of content", "answer");
  std::string text;
  for (const Json& block : content) {
    const std::string more = block_text(block);
    if (!text.empty() && !more.empty()) text += '\n';
    text += more;
  }
  if (text.empty() && result.contains("structuredContent")) text = json_text(result["structuredContent"]);
  return ToolResult{cut(std::move(text)), result.value("isError", Json()) == true};
}

ToolResult failed_call(const std::string& message) {
  return {cut("The call failed: " + message), true};
}

}  // namespace realizar::mcp
