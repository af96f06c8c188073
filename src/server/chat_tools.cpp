#include "server/chat_tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/printable.h"
#include "base/try.h"

namespace realizar::server {
namespace {

// Nullopt for what is no function.
Result<std::optional<ChatTool>> read_tool(const Json& tool, const std::string& place) {
  if (!tool.is_object()) return wrong(place, "expected an object");
  const Json type = tool.value("type", Json("function"));
  if (!type.is_string()) return wrong(place + ".type", "expected a string");
  if (type != "function") return std::optional<ChatTool>();
  RZ_TRY(text::ToolSpec spec, text::read_tool_spec(tool, place));
  Fields fields(tool["function"], place + ".function.");
  const bool is_strict = fields.boolean("strict").value_or(false);
  if (!fields.status().ok()) return fields.status().error();
  return std::optional(ChatTool{std::move(spec), tool, place, is_strict});
}

Result<std::vector<ChatTool>> read_tools(Fields& body) {
  const Json* tools = body.array("tools");
  if (!body.status().ok()) return body.status().error();
  std::vector<ChatTool> read;
  for (size_t i = 0; tools != nullptr && i < tools->size(); ++i) {
    RZ_TRY(auto tool, read_tool((*tools)[i], fmt::format("tools[{}]", i)));
    if (tool) read.push_back(std::move(*tool));
  }
  return read;
}

Error wrong_choice() {
  return wrong("tool_choice",
               "expected none, auto, required, {type: function, function: {name}} or {type: allowed_tools, "
               "allowed_tools: {mode, tools}}");
}

// The name in {"type": "function", "function": {"name": ...}}, of one of the tools.
Result<std::string> read_named(const Json& choice, const std::vector<ChatTool>& tools) {
  const Json function = choice.is_object() ? choice.value("function", Json()) : Json();
  const Json name = function.is_object() ? function.value("name", Json()) : Json();
  if (!name.is_string()) return wrong_choice();
  const bool is_known = std::ranges::any_of(tools, [&](const ChatTool& tool) { return tool.spec.name == name; });
  if (!is_known) return wrong("tool_choice", "there is no tool '" + shown(name.get<std::string>()) + "'");
  return name.get<std::string>();
}

Status allow(const Json& allowed, ChatTools& chat) {
  const Json mode = allowed.is_object() ? allowed.value("mode", Json()) : Json();
  const Json list = allowed.is_object() ? allowed.value("tools", Json()) : Json();
  if ((mode != "auto" && mode != "required") || !list.is_array()) return wrong_choice();
  std::vector<std::string> names;
  for (const Json& one : list) {
    const bool is_function = !one.is_object() || one.value("type", Json("function")) == "function";
    if (!is_function) continue;
    RZ_TRY(names.emplace_back(), read_named(one, chat.tools));
  }
  std::erase_if(chat.tools,
                [&](const ChatTool& tool) { return std::ranges::find(names, tool.spec.name) == names.end(); });
  chat.must_call = mode == "required";
  return {};
}

Status choose(const Json& choice, ChatTools& chat) {
  if (choice.is_null() || choice == "auto") return {};
  if (choice == "none") {
    chat.tools.clear();
    return {};
  }
  chat.must_call = true;
  if (choice == "required") return {};
  if (choice.is_object() && choice.value("type", Json()) == "allowed_tools") {
    return allow(choice.value("allowed_tools", Json()), chat);
  }
  RZ_TRY(chat.only, read_named(choice, chat.tools));
  return {};
}

}  // namespace

std::vector<text::ToolSpec> ChatTools::specs() const {
  std::vector<text::ToolSpec> specs;
  for (const ChatTool& tool : tools) specs.push_back(tool.spec);
  return specs;
}

std::vector<text::RequiredTool> ChatTools::required() const {
  std::vector<text::RequiredTool> callable;
  for (const ChatTool& tool : tools) {
    if (only.empty() || tool.spec.name == only) callable.push_back({&tool.spec, tool.place, tool.is_strict});
  }
  return callable;
}

Result<ChatTools> read_chat_tools(Fields& body) {
  ChatTools chat;
  RZ_TRY(chat.tools, read_tools(body));
  RZ_CHECK_OK(choose(body.json().value("tool_choice", Json()), chat));
  if (chat.must_call && chat.tools.empty()) return wrong("tool_choice", "needs tools that are functions");
  return chat;
}

}  // namespace realizar::server
