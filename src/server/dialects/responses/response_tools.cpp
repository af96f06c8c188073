#include "server/dialects/responses/response_input.h"

#include <fmt/format.h>

#include <utility>

#include "base/try.h"
#include "server/call/chat_tools.h"

namespace realizar::server {
namespace {

bool is_type(const Json& tool, const char* type) {
  return tool.is_object() && tool.value("type", Json()) == type;
}

// Whether a model here can call the tool.
bool is_callable(const Json& tool) {
  return is_type(tool, "function") || is_type(tool, "custom");
}

std::string text_of(const Json& object, const char* name) {
  const Json value = object.value(name, Json());
  return value.is_string() ? value.get<std::string>() : std::string();
}

// Tools of other types are left out.
Status add_tool(Json tool, const std::string& where, ResponseReading& into) {
  if (!tool.is_object()) return wrong(where, "expected an object");
  std::vector<ChatTool>& tools = into.chat.tools.tools;
  const Json type = tool.value("type", Json("function"));
  if (!type.is_string()) return wrong(where + ".type", "expected a string");
  if (!tool.contains("type")) {
    // A chat completion's tools may omit it.
    RZ_TRY(tools.emplace_back(), read_function_tool(std::move(tool), where + ".function"));
  } else if (type == "custom") {
    RZ_TRY(tools.emplace_back(), read_custom_tool(tool, where));
  } else if (type == "function") {
    // Templates print every field, and a chat completion's function has no type.
    tool.erase("type");
    RZ_TRY(tools.emplace_back(), read_function_tool(Json{{"type", type}, {"function", std::move(tool)}}, where));
  }
  return {};
}

// The first function's description also describes the namespace.
Status add_namespace(const Json& space, const std::string& where, ResponseReading& into) {
  const Json name = space.value("name", Json()), tools = space.value("tools", Json());
  if (!name.is_string() || name.get_ref<const std::string&>().empty())
    return wrong(where + ".name", "expected a string");
  if (!tools.is_array()) return wrong(where + ".tools", "expected an array of tools");
  std::string purpose = text_of(space, "description");
  for (size_t i = 0; i < tools.size(); ++i) {
    Json tool = tools[i];
    if (is_callable(tool)) {
      const Json inner = tool.value("name", Json());
      if (inner.is_string() && !inner.get_ref<const std::string&>().empty()) {
        tool["name"] = into.tool_names.add(name.get<std::string>(), inner.get<std::string>());
      }
      if (!purpose.empty()) {
        tool["description"] = std::exchange(purpose, {}) + "\n\n" + text_of(tool, "description");
      }
    }
    RZ_CHECK_OK(add_tool(std::move(tool), fmt::format("{}.tools[{}]", where, i), into));
  }
  return {};
}

// The name under which the model sees the tool; nullopt for other kinds of tools.
Result<std::optional<std::string>> seen_name(const Json& choice, const std::string& field, const ToolNames& names) {
  const bool is_other = choice.is_object() && choice.contains("type") && !is_callable(choice);
  if (is_other) return std::optional<std::string>();
  const Json name = is_callable(choice) ? choice.value("name", Json()) : Json();
  if (!name.is_string()) return wrong_tool_choice(field);
  return std::optional(names.find(text_of(choice, "namespace"), name.get<std::string>()));
}

}  // namespace

Status read_response_tools(Fields& body, const char* name, ResponseReading& into) {
  const Json& tools = *body.any(name);
  if (!tools.is_array()) return {};
  for (const Json& tool : tools) {
    if (is_callable(tool)) into.tool_names.add("", text_of(tool, "name"));
  }
  for (size_t i = 0; i < tools.size(); ++i) {
    const std::string where = fmt::format("{}[{}]", name, i);
    RZ_CHECK_OK(is_type(tools[i], "namespace") ? add_namespace(tools[i], where, into)
                                               : add_tool(tools[i], where, into));
  }
  return {};
}

Status read_response_choice(Fields& body, const char* name, ResponseReading& into) {
  const Json& choice = *body.any(name);
  const auto name_of = [&](const Json& tool) { return seen_name(tool, name, into.tool_names); };
  if (!choice.is_object()) {
    RZ_TRY(into.tool_choice, read_tool_choice(choice, name));
  } else if (is_type(choice, "allowed_tools")) {
    RZ_TRY(into.tool_choice, read_allowed_tools(choice, name, name_of));
  } else if (is_callable(choice)) {
    RZ_TRY(const auto chosen, name_of(choice));
    into.tool_choice = {.mode = ToolChoice::Mode::kRequired, .only = *chosen};
  } else {
    return wrong(std::string(name) + ".type",
                 "expected function, custom or allowed_tools: this server has no tools of its own");
  }
  return {};
}

}  // namespace realizar::server
