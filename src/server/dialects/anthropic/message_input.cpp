#include "server/dialects/anthropic/message_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "base/printable.h"
#include "base/try.h"
#include "server/dialects/anthropic/message_content.h"

namespace realizar::server {
namespace {

// Nullopt for one of Anthropic's own tools.
Result<std::optional<ChatTool>> read_message_tool(const Json& tool, const std::string& where) {
  if (!tool.is_object()) return wrong(where, "expected an object");
  const Json type = tool.value("type", Json());
  if (!type.is_null() && !type.is_string()) return wrong(where + ".type", "expected a string");
  if (type.is_string() && type != "custom") return std::optional<ChatTool>();
  Json function{{"name", tool.value("name", Json())}};
  if (tool.contains("description")) function["description"] = tool["description"];
  const Json schema = tool.value("input_schema", Json());
  if (!schema.is_object()) return wrong(where + ".input_schema", "expected a JSON Schema");
  function["parameters"] = schema;
  if (tool.contains("strict")) function["strict"] = tool["strict"];
  RZ_TRY(ChatTool read, read_function_tool(Json{{"type", "function"}, {"function", std::move(function)}}, where));
  read.place = where + ".input_schema";
  return std::optional(std::move(read));
}

Status read_message_tools(const Json& tools, const char* name, MessageReading& into) {
  for (size_t i = 0; i < tools.size(); ++i) {
    RZ_TRY(auto tool, read_message_tool(tools[i], fmt::format("{}[{}]", name, i)));
    if (tool) into.chat.tools.tools.push_back(std::move(*tool));
  }
  return {};
}

Status read_message_choice(Fields& fields, MessageReading& into) {
  const std::string type = fields.text("type").value_or("");
  const auto tool = fields.text("name");
  into.chat.parallel_calls = !fields.boolean("disable_parallel_tool_use").value_or(false);
  if (!fields.status().ok()) return fields.status();
  ToolChoice& read = into.tool_choice;
  if (type == "auto") return {};
  read.mode = type == "none" ? ToolChoice::Mode::kNone : ToolChoice::Mode::kRequired;
  if (type == "tool" && tool) {
    read.only = *tool;
  } else if (type != "any" && type != "none") {
    return wrong("tool_choice", "expected {type: auto}, {type: any}, {type: tool, name} or {type: none}");
  }
  return {};
}

Status read_stop_sequences(Fields& body, const char* name, MessageReading& into) {
  const Json* stops = body.array(name);
  if (stops == nullptr) return body.status();
  return texts_of(*stops) ? read_stop(body, name, into) : wrong(name, "expected an array of strings");
}

// {type: json_schema, schema}
Result<AnswerForm> read_output_form(const Json& format, const std::string& where) {
  if (format.value("type", Json()) != "json_schema") return wrong(where + ".type", "expected json_schema");
  const Json schema = format.value("schema", Json());
  if (!schema.is_object()) return wrong(where + ".schema", "expected a JSON Schema");
  return AnswerForm{AnswerForm::Kind::kSchema, dump(schema), where + ".schema", true};
}

// A beta of the API had the form here.
Status read_output_format(Fields& format, MessageReading& into) {
  RZ_TRY(into.form, read_output_form(format.json(), "output_format"));
  return {};
}

Status read_output_config(Fields& config, MessageReading& into) {
  if (const Json* format = config.object("format")) {
    RZ_TRY(into.form, read_output_form(*format, "output_config.format"));
  }
  into.chat.reasoning.effort = config.text("effort");
  if (into.chat.reasoning.effort) into.chat.effort_field = "output_config.effort";
  return {};
}

// The other members are read with the fields that all dialects spell alike.
Status read_thinking_display(Fields& fields, MessageReading& into) {
  if (!fields.text("type")) fields.fail("type", "expected enabled, adaptive or disabled");
  const auto display = fields.text("display");
  if (display && *display != "summarized" && *display != "omitted") {
    fields.fail("display", "expected summarized or omitted, actual " + shown(*display));
  }
  into.omits_thinking = display == "omitted";
  return {};
}

constexpr Field<MessageReading> kMessageFields[] = {
    {"metadata", of_object<take_nothing>},
    {"tools", of_list<read_message_tools>},
    {"tool_choice", of_object<read_message_choice>},
    {"stop_sequences", read_stop_sequences},
    {"output_format", of_object<read_output_format>},
    {"output_config", of_object<read_output_config>},
    {"thinking", of_object<read_thinking_display>},
    {"system", by<read_system_blocks>},
    {"messages", by<read_message_list>},
};
constexpr Field<MessageReading> kMessageAnswerFields[] = {
    {"model", apart},
    {"max_tokens", by<read_max_tokens<0>>},
};

}  // namespace

Status read_message_fields(Fields& body, MessageReading& into) {
  RZ_CHECK_OK(read_fields(kMessageFields, body, into));
  if (body.any("messages") == nullptr) return wrong("messages", "expected an array");
  return read_chat_fields(body, into);
}

Status read_whole_message(Fields& body, MessageReading& into) {
  if (body.any("max_tokens") == nullptr) {
    return wrong("max_tokens", "expected a whole number from 0, actual nothing");
  }
  RZ_CHECK_OK(read_fields(kMessageAnswerFields, body, into));
  RZ_CHECK_OK(read_message_fields(body, into));
  RZ_CHECK_OK(read_common_fields(body, into));
  return into.finish();
}

KnownFields message_fields() {
  const KnownFields hosted = without_effect("container", "context_management", "mcp_servers", "service_tier", "speed");
  return known_in(kMessageFields, kMessageAnswerFields, hosted, common_fields(), chat_fields());
}

}  // namespace realizar::server
