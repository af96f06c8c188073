#include "server/dialects/openai/legacy_functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/try.h"

namespace realizar::server {
namespace {

bool has(const Json& object, const char* name) {
  return object.is_object() && object.contains(name) && !object[name].is_null();
}

Result<Json> tools_of(const Json& functions) {
  if (!functions.is_array()) return wrong("functions", "expected an array");
  Json tools = Json::array();
  for (size_t i = 0; i < functions.size(); ++i) {
    const bool has_name = has(functions[i], "name") && functions[i]["name"].is_string();
    if (!has_name) return wrong(fmt::format("functions[{}].name", i), "expected a string");
    tools.push_back({{"type", "function"}, {"function", functions[i]}});
  }
  return tools;
}

Result<Json> tool_choice_of(const Json& choice) {
  if (choice == "none" || choice == "auto") return choice;
  const bool has_name = has(choice, "name") && choice["name"].is_string();
  if (!has_name) return wrong("function_call", "expected none, auto or {name}");
  return Json{{"type", "function"}, {"function", {{"name", choice["name"]}}}};
}

// Calls have no ids in this spelling; a result belongs to the last call before it.
Json messages_of(const Json& messages) {
  Json mapped = Json::array();
  size_t n_calls = 0;
  for (Json message : messages) {
    if (has(message, "function_call") && !has(message, "tool_calls")) {
      const Json call{
          {"id", fmt::format("call_{}", ++n_calls)}, {"type", "function"}, {"function", message["function_call"]}};
      message["tool_calls"] = Json::array({call});
      message.erase("function_call");
    }
    if (has(message, "role") && message["role"] == "function") {
      message["role"] = "tool";
      message["tool_call_id"] = fmt::format("call_{}", n_calls);
    }
    mapped.push_back(std::move(message));
  }
  return mapped;
}

bool is_legacy_message(const Json& message) {
  return has(message, "function_call") || (has(message, "role") && message["role"] == "function");
}

}  // namespace

bool has_functions(const Json& body) {
  const bool has_messages = has(body, "messages") && body["messages"].is_array();
  const bool in_history =
      has_messages && std::any_of(body["messages"].begin(), body["messages"].end(), is_legacy_message);
  return in_history || has(body, "functions") || has(body, "function_call");
}

bool asks_for_functions(const Json& body) {
  return has(body, "functions");
}

Result<Json> with_tools(const Json& body) {
  Json mapped = body;
  if (has(body, "functions")) {
    if (has(body, "tools")) return wrong("functions", "cannot be given together with tools");
    RZ_TRY(mapped["tools"], tools_of(body["functions"]));
    mapped["parallel_tool_calls"] = false;
  }
  if (has(body, "function_call")) {
    if (has(body, "tool_choice")) return wrong("function_call", "cannot be given together with tool_choice");
    RZ_TRY(mapped["tool_choice"], tool_choice_of(body["function_call"]));
  }
  if (has(body, "messages") && body["messages"].is_array()) mapped["messages"] = messages_of(body["messages"]);
  return mapped;
}

}  // namespace realizar::server
