#include "server/call/chat_tools.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/printable.h"
#include "base/try.h"

namespace realizar::server {
namespace {

using Mode = ToolChoice::Mode;

bool is_custom_choice(const Json& choice) {
  return choice.is_object() && choice.value("type", Json()) == "custom";
}

// The name in {"type": "function", "function": {"name": ...}}, or likewise for a custom one.
Result<std::string> chosen_name(const Json& choice, const std::string& field) {
  const char* member = is_custom_choice(choice) ? "custom" : "function";
  // In the Responses API's form, the name is next to the type.
  const bool is_flat = choice.is_object() && !choice.contains(member) && choice.contains("type");
  const Json chosen = is_flat ? choice : choice.is_object() ? choice.value(member, Json()) : Json();
  const Json name = chosen.is_object() ? chosen.value("name", Json()) : Json();
  if (!name.is_string()) return wrong_tool_choice(field);
  return name.get<std::string>();
}

Result<std::optional<std::string>> allowed_name(const Json& tool, const std::string& field) {
  const bool is_callable =
      !tool.is_object() || is_custom_choice(tool) || tool.value("type", Json("function")) == "function";
  if (!is_callable) return std::optional<std::string>();
  RZ_TRY(std::string name, chosen_name(tool, field));
  return std::optional(std::move(name));
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

Status ChatTools::choose(const ToolChoice& choice) {
  const auto check_known = [&](const std::string& name) -> Status {
    const bool is_known = std::ranges::any_of(tools, [&](const ChatTool& tool) { return tool.spec.name == name; });
    if (!is_known) return wrong(choice.field, "there is no tool '" + shown(name) + "'");
    return {};
  };
  if (choice.mode == ToolChoice::Mode::kNone) tools.clear();
  if (!choice.only.empty()) RZ_CHECK_OK(check_known(choice.only));
  if (choice.allowed) {
    for (const std::string& name : *choice.allowed) RZ_CHECK_OK(check_known(name));
    std::erase_if(tools, [&](const ChatTool& tool) {
      return std::ranges::find(*choice.allowed, tool.spec.name) == choice.allowed->end();
    });
  }
  must_call = choice.mode == ToolChoice::Mode::kRequired;
  only = choice.only;
  if (must_call && tools.empty()) return wrong(choice.field, "needs tools that can be called");
  return {};
}

Result<ChatTool> read_function_tool(Json tool, const std::string& where) {
  RZ_TRY(text::ToolSpec spec, text::read_tool_spec(tool, where));
  Fields fields(tool["function"], where + ".");
  const bool is_strict = fields.boolean("strict").value_or(false);
  if (!fields.status().ok()) return fields.status().error();
  return ChatTool{std::move(spec), std::move(tool), where + ".parameters", is_strict};
}

Error wrong_tool_choice(const std::string& field) {
  return wrong(field,
               "expected none, auto, required, {type: function, function: {name}}, {type: custom, custom: {name}} or "
               "{type: allowed_tools, allowed_tools: {mode, tools}}");
}

Result<ToolChoice> read_allowed_tools(const Json& allowed, const std::string& field, const ToolNameReader& name_of) {
  const Json mode = allowed.is_object() ? allowed.value("mode", Json()) : Json();
  const Json list = allowed.is_object() ? allowed.value("tools", Json()) : Json();
  if ((mode != "auto" && mode != "required") || !list.is_array()) return wrong_tool_choice(field);
  ToolChoice choice{mode == "auto" ? Mode::kAuto : Mode::kRequired, std::vector<std::string>(), "", field};
  for (const Json& tool : list) {
    RZ_TRY(auto name, name_of(tool));
    if (name) choice.allowed->push_back(std::move(*name));
  }
  return choice;
}

Result<ToolChoice> read_tool_choice(const Json& choice, const std::string& field) {
  ToolChoice read{.field = field};
  if (choice == "auto") return read;
  read.mode = choice == "none" ? Mode::kNone : Mode::kRequired;
  if (choice == "none" || choice == "required" || choice == "any") return read;  // spelled "any" by Mistral's clients
  if (choice.is_object() && choice.value("type", Json()) == "allowed_tools") {
    return read_allowed_tools(choice.value("allowed_tools", Json()), field,
                              [&](const Json& tool) { return allowed_name(tool, field); });
  }
  RZ_TRY(read.only, chosen_name(choice, field));
  return read;
}

}  // namespace realizar::server
