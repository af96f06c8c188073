#include "server/dialects/anthropic/message_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/printable.h"
#include "base/try.h"
#include "server/dialects/anthropic/message_content.h"

namespace realizar::server {
namespace {

// Fields of the API that are read here, and those of chat completions that would mean something else there. All others
// go on as they are: temperature, top_p, top_k, thinking, and this server's own.
constexpr std::array<std::string_view, 19> kOwnFields = {"messages",
                                                         "system",
                                                         "tools",
                                                         "tool_choice",
                                                         "stop_sequences",
                                                         "output_config",
                                                         "output_format",
                                                         "metadata",
                                                         "stop",
                                                         "n",
                                                         "logprobs",
                                                         "top_logprobs",
                                                         "stream_options",
                                                         "max_completion_tokens",
                                                         "n_predict",
                                                         "functions",
                                                         "function_call",
                                                         "parallel_tool_calls",
                                                         "continue_final_message"};

// Null for a tool that is Anthropic's own.
Result<Json> function_of(const Json& tool, const std::string& place) {
  if (!tool.is_object()) return wrong(place, "expected an object");
  const Json type = tool.value("type", Json());
  if (!type.is_null() && !type.is_string()) return wrong(place + ".type", "expected a string");
  if (type.is_string() && type != "custom") return Json();
  Json function{{"name", tool.value("name", Json())}};
  if (tool.contains("description")) function["description"] = tool["description"];
  const Json schema = tool.value("input_schema", Json());
  if (!schema.is_object()) return wrong(place + ".input_schema", "expected a JSON Schema");
  function["parameters"] = schema;
  if (tool.contains("strict")) function["strict"] = tool["strict"];
  return Json{{"type", "function"}, {"function", std::move(function)}};
}

Status read_tools(Fields& fields, MessageChat& chat) {
  const Json* tools = fields.array("tools");
  if (tools == nullptr) return fields.status();
  Json& functions = chat.body["tools"] = Json::array();
  for (size_t i = 0; i < tools->size(); ++i) {
    const std::string place = fmt::format("tools[{}]", i);
    RZ_TRY(Json function, function_of((*tools)[i], place));
    if (function.is_null()) continue;
    const std::string here = fmt::format("tools[{}]", functions.size());
    chat.places.emplace_back(here + ".function.parameters", place + ".input_schema");
    chat.places.emplace_back(here + ".function", place);
    chat.places.emplace_back(here, place);
    functions.push_back(std::move(function));
  }
  return {};
}

Status read_tool_choice(Fields& fields, MessageChat& chat) {
  const Json* choice = fields.object("tool_choice");
  if (choice == nullptr) return fields.status();
  Fields choice_fields(*choice, "tool_choice.");
  const std::string type = choice_fields.text("type").value_or("");
  const auto name = choice_fields.text("name");
  const bool is_single = choice_fields.boolean("disable_parallel_tool_use").value_or(false);
  if (!choice_fields.status().ok()) return choice_fields.status();
  chat.body["parallel_tool_calls"] = !is_single;
  if (type == "auto" || type == "none") {
    chat.body["tool_choice"] = type;
  } else if (type == "any") {
    chat.body["tool_choice"] = "required";
  } else if (type == "tool" && name) {
    chat.body["tool_choice"] = {{"type", "function"}, {"function", {{"name", *name}}}};
  } else {
    return wrong("tool_choice", "expected {type: auto}, {type: any}, {type: tool, name} or {type: none}");
  }
  return {};
}

Status read_stops(Fields& fields, MessageChat& chat) {
  const Json* stops = fields.array("stop_sequences");
  if (stops == nullptr) return fields.status();
  const bool is_texts = std::ranges::all_of(*stops, [](const Json& stop) { return stop.is_string(); });
  if (!is_texts) return wrong("stop_sequences", "expected an array of strings");
  chat.body["stop"] = *stops;
  chat.places.emplace_back("stop", "stop_sequences");
  return {};
}

// {type: json_schema, schema}
Status read_format(const Json& format, const std::string& place, MessageChat& chat) {
  if (format.value("type", Json()) != "json_schema") return wrong(place + ".type", "expected json_schema");
  const Json schema = format.value("schema", Json());
  if (!schema.is_object()) return wrong(place + ".schema", "expected a JSON Schema");
  chat.body["response_format"] = {{"type", "json_schema"},
                                  {"json_schema", {{"name", "answer"}, {"schema", schema}, {"strict", true}}}};
  chat.places.emplace_back("response_format.json_schema", place);
  chat.places.emplace_back("response_format", place);
  return {};
}

// `output_format` is where a beta of the API had the form.
Status read_output(Fields& fields, MessageChat& chat) {
  if (const Json* format = fields.object("output_format")) RZ_CHECK_OK(read_format(*format, "output_format", chat));
  const Json* config = fields.object("output_config");
  if (config == nullptr) return fields.status();
  Fields output(*config, "output_config.");
  if (const Json* format = output.object("format")) RZ_CHECK_OK(read_format(*format, "output_config.format", chat));
  if (const auto effort = output.text("effort")) chat.body["reasoning_effort"] = *effort;
  chat.places.emplace_back("reasoning_effort", "output_config.effort");
  return output.status();
}

Status read_thinking(Fields& fields, MessageChat& chat) {
  const Json* thinking = fields.object("thinking");
  if (thinking == nullptr) return fields.status();
  Fields thinking_fields(*thinking, "thinking.");
  if (!thinking_fields.text("type")) thinking_fields.fail("type", "expected enabled, adaptive or disabled");
  const auto display = thinking_fields.text("display");
  if (display && *display != "summarized" && *display != "omitted") {
    thinking_fields.fail("display", "expected summarized or omitted, actual " + shown(*display));
  }
  chat.omits_thinking = display == "omitted";
  return thinking_fields.status();
}

}  // namespace

Result<MessageChat> chat_of_message(Fields& fields) {
  const Json& body = fields.json();
  MessageChat chat;
  for (const auto& [name, value] : body.items()) {
    if (std::ranges::find(kOwnFields, name) == kOwnFields.end()) chat.body[name] = value;
  }
  fields.object("metadata");
  RZ_CHECK_OK(read_tools(fields, chat));
  RZ_CHECK_OK(read_tool_choice(fields, chat));
  RZ_CHECK_OK(read_stops(fields, chat));
  RZ_CHECK_OK(read_output(fields, chat));
  RZ_CHECK_OK(read_thinking(fields, chat));
  RZ_CHECK_OK(read_message_content(body, chat));
  if (!fields.status().ok()) return fields.status().error();
  return chat;
}

}  // namespace realizar::server
