#include "server/dialects/anthropic/message_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "base/printable.h"
#include "base/try.h"

namespace realizar::server {
namespace {

// Blocks left by Anthropic's own tools. No model here has made them, and no template knows them.
constexpr std::array<std::string_view, 11> kHostedBlocks = {"server_tool_use",
                                                            "web_search_tool_result",
                                                            "web_fetch_tool_result",
                                                            "code_execution_tool_result",
                                                            "bash_code_execution_tool_result",
                                                            "text_editor_code_execution_tool_result",
                                                            "tool_search_tool_result",
                                                            "mcp_tool_use",
                                                            "mcp_tool_result",
                                                            "container_upload",
                                                            "redacted_thinking"};
// Claude Code puts a block before its system prompt that differs in each request: with it, no two requests would share
// a prefix.
constexpr std::string_view kBillingBlock = "x-anthropic-billing-header:";

Result<std::string> string_of(const Json& block, const char* name, const std::string& place) {
  const auto found = block.find(name);
  if (found == block.end() || !found->is_string()) return wrong(place + "." + name, "expected a string");
  return found->get<std::string>();
}

Result<std::string> type_of(const Json& block, const std::string& place) {
  if (!block.is_object()) return wrong(place, "expected an object with a type");
  return string_of(block, "type", place);
}

Error not_text(const std::string& place, const std::string& actual) {
  return wrong(place, "this model takes text only, actual " + shown(actual));
}

Result<std::string> text_of_blocks(const Json& content, const std::string& place, const char* between);

// Its title and context, if any, precede its text.
Result<std::string> text_of_document(const Json& block, const std::string& place) {
  const Json source = block.value("source", Json());
  RZ_TRY(const std::string kind, type_of(source, place + ".source"));
  std::string text;
  for (const char* name : {"title", "context"}) {
    const Json head = block.value(name, Json());
    if (head.is_string()) text += head.get<std::string>() + "\n\n";
  }
  if (kind == "text") {
    RZ_TRY(const std::string data, string_of(source, "data", place + ".source"));
    return text + data;
  }
  if (kind != "content") return not_text(place + ".source", "a document of type " + kind);
  RZ_TRY(const std::string data, text_of_blocks(source.value("content", Json()), place + ".source.content", ""));
  return text + data;
}

Result<std::string> text_of_search_result(const Json& block, const std::string& place) {
  RZ_TRY(std::string text, string_of(block, "title", place));
  RZ_TRY(const std::string source, string_of(block, "source", place));
  RZ_TRY(const std::string found, text_of_blocks(block.value("content", Json()), place + ".content", "\n"));
  return text + "\n" + source + "\n" + found;
}

Result<std::string> text_of_block(const Json& block, const std::string& place) {
  RZ_TRY(const std::string type, type_of(block, place));
  if (type == "text") return string_of(block, "text", place);
  if (type == "document") return text_of_document(block, place);
  if (type == "search_result") return text_of_search_result(block, place);
  return not_text(place, "a block of type " + type);
}

Result<std::string> text_of_blocks(const Json& content, const std::string& place, const char* between) {
  if (content.is_string()) return content.get<std::string>();
  if (!content.is_array()) return wrong(place, "expected a string or an array of blocks");
  std::string all;
  for (size_t i = 0; i < content.size(); ++i) {
    RZ_TRY(const std::string text, text_of_block(content[i], fmt::format("{}[{}]", place, i)));
    if (text.starts_with(kBillingBlock)) continue;
    if (!all.empty()) all += between;
    all += text;
  }
  return all;
}

// A block of a result that is not text is replaced by a note, or by the name of the tool found by Claude Code's tool
// search.
Result<std::string> text_of_result_block(const Json& block, const std::string& place) {
  RZ_TRY(const std::string type, type_of(block, place));
  if (type == "tool_reference") return string_of(block, "tool_name", place);
  const bool is_text = type == "text" || type == "search_result";
  const Json source = block.value("source", Json());
  const Json kind = source.is_object() ? source.value("type", Json()) : Json();
  const bool is_document = type == "document" && (kind == "text" || kind == "content");
  return is_text || is_document ? text_of_block(block, place) : note_of_part(type);
}

Result<std::string> text_of_result(const Json& content, const std::string& place) {
  if (content.is_null()) return std::string();
  if (!content.is_array()) return text_of_blocks(content, place, "\n");
  std::string all;
  for (size_t i = 0; i < content.size(); ++i) {
    RZ_TRY(const std::string text, text_of_result_block(content[i], fmt::format("{}[{}]", place, i)));
    if (!all.empty()) all += "\n";
    all += text;
  }
  return all;
}

class Conversation {
 public:
  explicit Conversation(ChatRequest& chat) : chat_(chat) {}

  Status add_message(const Json& message, const std::string& place) {
    if (!message.is_object()) return wrong(place, "expected an object");
    last_place_ = place;
    const Json role = message.value("role", Json());
    if (role == "assistant") return add_assistant(message, place);
    if (role == "user") return add_user(message, Role::kUser, place);
    if (role == "system") return add_user(message, Role::kSystem, place);
    return wrong(place + ".role", "expected user or assistant, actual " + shown(dump(role)));
  }

  // An unfinished answer is to be continued; an empty one is not a beginning.
  Status end() {
    if (list().empty() || list().back().role != Role::kAssistant) return {};
    const ChatMessage& last = list().back();
    if (!last.calls.empty()) {
      return wrong(last_place_, "a message with tool_use cannot be the last: its tool_result is missing");
    }
    chat_.continues_last = !last.content.empty() || !last.reasoning.empty();
    chat_.continues_field = last_place_;
    if (!chat_.continues_last) list().pop_back();
    return {};
  }

 private:
  std::vector<ChatMessage>& list() { return chat_.messages; }

  Status add_user(const Json& message, Role role, const std::string& place) {
    const Json content = message.value("content", Json());
    std::string text;
    if (!content.is_array()) {
      RZ_TRY(text, text_of_blocks(content, place + ".content", ""));
    }
    bool has_text = !content.is_array(), has_results = false;
    for (size_t i = 0; content.is_array() && i < content.size(); ++i) {
      const std::string here = fmt::format("{}.content[{}]", place, i);
      RZ_TRY(const std::string type, type_of(content[i], here));
      if (type == "tool_result") {
        RZ_CHECK_OK(add_result(content[i], here));
        has_results = true;
      } else if (!is_hosted(type)) {
        RZ_TRY(const std::string more, text_of_block(content[i], here));
        text += more;
        has_text = true;
      }
    }
    if (has_text || !has_results) list().push_back({role, std::move(text)});
    return {};
  }

  Status add_result(const Json& block, const std::string& place) {
    RZ_TRY(const std::string id, string_of(block, "tool_use_id", place));
    RZ_TRY(std::string text, text_of_result(block.value("content", Json()), place + ".content"));
    const Json is_error = block.value("is_error", Json(false));
    if (!is_error.is_boolean() && !is_error.is_null()) return wrong(place + ".is_error", "expected a boolean");
    // Templates do not support the flag.
    if (is_error == true && !text.starts_with("Error")) text = text.empty() ? "Error" : "Error: " + text;
    list().push_back(tool_result(id, std::move(text)));
    return {};
  }

  Status add_assistant(const Json& message, const std::string& place) {
    const Json content = message.value("content", Json());
    ChatMessage read{.role = Role::kAssistant, .content = ""};
    if (!content.is_array()) {
      RZ_TRY(read.content, text_of_blocks(content, place + ".content", ""));
    }
    for (size_t i = 0; content.is_array() && i < content.size(); ++i) {
      RZ_CHECK_OK(add_part(content[i], fmt::format("{}.content[{}]", place, i), read));
    }
    list().push_back(std::move(read));
    return {};
  }

  static Status add_part(const Json& block, const std::string& place, ChatMessage& message) {
    RZ_TRY(const std::string type, type_of(block, place));
    if (is_hosted(type)) return {};
    if (type == "tool_use") return add_call(block, place, message);
    const bool is_thinking = type == "thinking";
    RZ_TRY(const std::string text, is_thinking ? string_of(block, "thinking", place) : text_of_block(block, place));
    if (is_thinking && text.empty()) return {};
    std::string& all = is_thinking ? message.reasoning : message.content;
    // Thoughts between calls were written separately.
    all += is_thinking && !all.empty() ? "\n\n" + text : text;
    return {};
  }

  static Status add_call(const Json& block, const std::string& place, ChatMessage& message) {
    RZ_TRY(const std::string id, string_of(block, "id", place));
    RZ_TRY(const std::string name, string_of(block, "name", place));
    const Json input = block.value("input", Json::object());
    if (!input.is_object()) return wrong(place + ".input", "expected an object");
    message.calls.push_back(function_call(id, name, input));
    return {};
  }

  static bool is_hosted(std::string_view type) { return std::ranges::find(kHostedBlocks, type) != kHostedBlocks.end(); }

  ChatRequest& chat_;
  std::string last_place_;
};

// Reads a string or blocks of text, which become the first message.
Status read_system_blocks(Fields& body, const char* name, MessageReading& into) {
  RZ_TRY(std::string text, text_of_blocks(*body.any(name), name, "\n\n"));
  if (!text.empty()) into.chat.messages.push_back({Role::kSystem, std::move(text)});
  return {};
}

// Tool results become separate messages, before the other content of their message. An assistant's last message is to
// be continued.
Status read_message_list(Fields& body, const char* name, MessageReading& into) {
  const Json& messages = *body.any(name);
  if (!messages.is_array()) return body.wrong(name, "expected an array");
  Conversation conversation(into.chat);
  for (size_t i = 0; i < messages.size(); ++i) {
    RZ_CHECK_OK(conversation.add_message(messages[i], fmt::format("{}[{}]", name, i)));
  }
  RZ_CHECK_OK(conversation.end());
  if (messages.empty() || into.chat.messages.empty()) return body.wrong(name, "expected at least one message");
  return {};
}

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
    {"system", read_system_blocks},
    {"messages", read_message_list},
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
