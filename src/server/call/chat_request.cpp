#include "server/call/chat_request.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/printable.h"
#include "base/try.h"

namespace realizar::server {
namespace {

Status read_thinking(Fields& fields, ReasoningOptions& into) {
  const auto type = fields.text("type");
  const bool is_known = !type || *type == "enabled" || *type == "adaptive" || *type == "disabled";
  if (!is_known) fields.fail("type", "expected enabled, adaptive or disabled, actual " + shown(*type));
  if (type) into.enabled = *type != "disabled";
  const auto budget = fields.integer("budget_tokens", 0, INT32_MAX);
  if (budget && into.enabled.value_or(true)) into.budget = budget;
  return {};
}

Status read_effort_name(Fields& body, const char* name, ReasoningOptions& into) {
  if (!into.effort) into.effort = body.text(name);
  return body.status();
}

constexpr auto take_budget = take_whole<-1, INT32_MAX, &ReasoningOptions::budget>;

constexpr Field<ReasoningOptions> kReasoningFields[] = {
    {"thinking", of_object<read_thinking>},
    {"thinking_budget_tokens", take_budget},
    {"reasoning_budget", take_budget},
    {"reasoning_budget_tokens", take_budget},
    {"thinking_token_budget", take_budget},
    {"thinking_budget", take_budget},
    {"enable_thinking", take_flag<&ReasoningOptions::enabled>},
    {"reasoning_effort", read_effort_name},
};

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

Status read_reasoning(Fields& body, ReasoningOptions& into) {
  return read_fields(kReasoningFields, body, into);
}

ReasoningOptions with_defaults(ReasoningOptions asked, const RequestDefaults& defaults) {
  if (asked.asks_nothing()) asked.enabled = defaults.reasoning;
  const bool may_be_bounded = !asked.budget && !asked.effort && asked.enabled.value_or(true);
  if (may_be_bounded && defaults.reasoning_budget) asked.budget = *defaults.reasoning_budget;
  return asked;
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
  return known_in(kChatFields, kReasoningFields, form_fields());
}

}  // namespace realizar::server
