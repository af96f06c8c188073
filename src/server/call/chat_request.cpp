#include "server/call/chat_request.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/printable.h"
#include "base/try.h"
#include "server/call/reasoning_fields.h"

namespace realizar::server {
namespace {

// A reasoning switch among them overrides that of other fields.
Status read_template_variables(Fields& fields, ChatReading& into) {
  const Json& variables = fields.json();
  const bool is_plain = !variables.contains("messages") && !variables.contains("tools");
  if (!is_plain) return wrong("chat_template_kwargs", "messages and tools have fields of their own");
  into.chat.template_variables = variables;
  const Json enabled = variables.value("enable_thinking", Json());
  if (enabled.is_boolean()) into.chat.reasoning.enabled = enabled.get<bool>();
  return {};
}

// For llama.cpp: "none" leaves reasoning in the text with the model's marks.
Status read_reasoning_format(Fields& body, const char* name, ChatReading& into) {
  const auto format = body.text(name);
  if (!format) return body.status();
  const bool is_known = *format == "none" || *format == "auto" || *format == "deepseek" || *format == "deepseek-legacy";
  if (!is_known) return body.wrong(name, "expected none, auto or deepseek, actual " + shown(*format));
  into.chat.reasoning_in_content = *format == "none";
  return {};
}

constexpr Field<ChatReading> kChatFields[] = {
    {"add_generation_prompt", take_flag<&ChatReading::chat, &ChatRequest::begins_answer>},
    {"chat_template_kwargs", of_object<read_template_variables>},
    {"reasoning_format", read_reasoning_format},
};

}  // namespace

Status ChatReading::finish() {
  RZ_CHECK_OK(finish_generation());
  chat.generation = std::move(generation);
  return {};
}

Status read_chat_fields(Fields& body, ChatReading& into) {
  ChatRequest& chat = into.chat;
  RZ_CHECK_OK(chat.tools.choose(into.tool_choice));
  RZ_CHECK_OK(read_reasoning(body, chat.reasoning));
  RZ_CHECK_OK(read_fields(kChatFields, body, into));
  // A required call excludes a form.
  if (chat.tools.must_call) return {};
  RZ_TRY(chat.form, read_answer_form(body.json(), std::move(into.form)));
  return {};
}

KnownFields chat_fields() {
  return known_in(kChatFields, reasoning_fields(), form_fields());
}

}  // namespace realizar::server
