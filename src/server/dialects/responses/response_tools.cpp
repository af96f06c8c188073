#include "server/dialects/responses/response_tools.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/try.h"

namespace realizar::server {
namespace {

bool is_type(const Json& tool, const char* type) {
  return tool.is_object() && tool.value("type", Json()) == type;
}

// The member of a tool of a chat completion that holds what the tool is; null: no model here can call such a tool.
const char* member_of(const Json& tool) {
  return is_type(tool, "function") ? "function" : is_type(tool, "custom") ? "custom" : nullptr;
}

std::string text_of(const Json& object, const char* name) {
  const Json value = object.value(name, Json());
  return value.is_string() ? value.get<std::string>() : std::string();
}

void add_tool(Json tool, const std::string& place, ResponseChat& chat) {
  Json& tools = chat.body["tools"];
  const char* member = member_of(tool);
  if (member != nullptr) chat.places.emplace_back(fmt::format("tools[{}].{}", tools.size(), member), place);
  chat.places.emplace_back(fmt::format("tools[{}]", tools.size()), place);
  // Templates print what is there, and a chat completion's function has no type.
  if (member != nullptr) tool.erase("type");
  tools.push_back(member == nullptr ? std::move(tool) : Json{{"type", member}, {member, std::move(tool)}});
}

// The first of the functions tells what the namespace is for.
Status add_namespace(const Json& space, const std::string& place, ResponseChat& chat) {
  const Json name = space.value("name", Json()), tools = space.value("tools", Json());
  if (!name.is_string() || name.get_ref<const std::string&>().empty())
    return wrong(place + ".name", "expected a string");
  if (!tools.is_array()) return wrong(place + ".tools", "expected an array of tools");
  std::string purpose = text_of(space, "description");
  for (size_t i = 0; i < tools.size(); ++i) {
    Json tool = tools[i];
    if (member_of(tool) != nullptr) {
      const Json inner = tool.value("name", Json());
      if (inner.is_string() && !inner.get_ref<const std::string&>().empty()) {
        tool["name"] = chat.tool_names.add(name.get<std::string>(), inner.get<std::string>());
      }
      if (!purpose.empty()) {
        tool["description"] = std::exchange(purpose, {}) + "\n\n" + text_of(tool, "description");
      }
    }
    add_tool(std::move(tool), fmt::format("{}.tools[{}]", place, i), chat);
  }
  return {};
}

Json named_tool(const Json& choice, const ToolNames& names) {
  const char* member = member_of(choice);
  if (member == nullptr) return choice;
  Json name = choice.value("name", Json());
  if (name.is_string()) name = names.find(text_of(choice, "namespace"), name.get<std::string>());
  return {{"type", member}, {member, {{"name", std::move(name)}}}};
}

Status read_tools(const Json& body, ResponseChat& chat) {
  if (!body.contains("tools") || !body["tools"].is_array()) return {};
  const Json& tools = body["tools"];
  chat.body["tools"] = Json::array();
  for (const Json& tool : tools) {
    if (member_of(tool) != nullptr) chat.tool_names.add("", text_of(tool, "name"));
  }
  for (size_t i = 0; i < tools.size(); ++i) {
    const std::string place = fmt::format("tools[{}]", i);
    if (is_type(tools[i], "namespace")) {
      RZ_CHECK_OK(add_namespace(tools[i], place, chat));
    } else {
      add_tool(tools[i], place, chat);
    }
  }
  return {};
}

Status read_tool_choice(const Json& body, ResponseChat& chat) {
  const Json choice = body.value("tool_choice", Json());
  if (!choice.is_object()) return {};
  if (member_of(choice) != nullptr) {
    chat.body["tool_choice"] = named_tool(choice, chat.tool_names);
  } else if (is_type(choice, "allowed_tools")) {
    Json names = Json::array();
    for (const Json& tool : choice.value("tools", Json::array())) names.push_back(named_tool(tool, chat.tool_names));
    const Json allowed{{"mode", choice.value("mode", Json())}, {"tools", std::move(names)}};
    chat.body["tool_choice"] = {{"type", "allowed_tools"}, {"allowed_tools", allowed}};
  } else {
    return wrong("tool_choice.type", "expected function, custom or allowed_tools: this server has no tools of its own");
  }
  return {};
}

}  // namespace

Status read_response_tools(const Json& body, ResponseChat& chat) {
  RZ_CHECK_OK(read_tools(body, chat));
  return read_tool_choice(body, chat);
}

}  // namespace realizar::server
