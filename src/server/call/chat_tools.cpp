#include "server/call/chat_tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/printable.h"
#include "base/try.h"
#include "server/call/custom_tools.h"

namespace realizar::server {
namespace {

Result<std::optional<ChatTool>> read_custom(const Json& tool, const std::string& place) {
  RZ_TRY(CustomTool custom, read_custom_tool(tool, place));
  RZ_TRY(text::ToolSpec spec, text::read_tool_spec(custom.function, place));
  return std::optional(
      ChatTool{std::move(spec), std::move(custom.function), place, true, true, std::move(custom.input)});
}

// Nullopt for what is neither a function nor custom.
Result<std::optional<ChatTool>> read_tool(const Json& tool, const std::string& place) {
  if (!tool.is_object()) return wrong(place, "expected an object");
  const Json type = tool.value("type", Json("function"));
  if (!type.is_string()) return wrong(place + ".type", "expected a string");
  if (type == "custom") return read_custom(tool, place);
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
               "expected none, auto, required, {type: function, function: {name}}, {type: custom, custom: {name}} or "
               "{type: allowed_tools, allowed_tools: {mode, tools}}");
}

bool is_custom_choice(const Json& choice) {
  return choice.is_object() && choice.value("type", Json()) == "custom";
}

// The name in {"type": "function", "function": {"name": ...}}, or the same of a custom one, of one of the tools.
Result<std::string> read_named(const Json& choice, const std::vector<ChatTool>& tools) {
  const char* member = is_custom_choice(choice) ? "custom" : "function";
  const Json chosen = choice.is_object() ? choice.value(member, Json()) : Json();
  const Json name = chosen.is_object() ? chosen.value("name", Json()) : Json();
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
    const bool is_callable =
        !one.is_object() || is_custom_choice(one) || one.value("type", Json("function")) == "function";
    if (!is_callable) continue;
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
  if (choice == "required" || choice == "any") return {};  // Mistral's clients say any
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

std::vector<text::RequiredTool> ChatTools::callable() const {
  std::vector<text::RequiredTool> callable;
  for (const ChatTool& tool : tools) {
    if (!only.empty() && tool.spec.name != only) continue;
    callable.push_back({&tool.spec, tool.place, tool.is_strict, tool.input.get()});
  }
  return callable;
}

std::vector<std::string> ChatTools::custom_names() const {
  std::vector<std::string> names;
  for (const ChatTool& tool : tools) {
    if (tool.is_custom) names.push_back(tool.spec.name);
  }
  return names;
}

bool ChatTools::has_input_grammar() const {
  return std::ranges::any_of(tools, [](const ChatTool& tool) { return tool.input != nullptr; });
}

Result<ChatTools> read_chat_tools(Fields& body) {
  ChatTools chat;
  RZ_TRY(chat.tools, read_tools(body));
  RZ_CHECK_OK(choose(body.json().value("tool_choice", Json()), chat));
  if (chat.must_call && chat.tools.empty()) return wrong("tool_choice", "needs tools that can be called");
  return chat;
}

}  // namespace realizar::server
