// A chat request from any dialect, with the client's own field names for errors.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "realizar/reasoning.h"
#include "server/call/chat_messages.h"
#include "server/call/chat_tools.h"
#include "server/call/request_fields.h"
#include "server/models/answer_form.h"

namespace realizar::server {

struct ChatRequest {
  GenerationFields generation;
  std::vector<ChatMessage> messages;
  ChatTools tools;
  bool parallel_calls = true;
  AnswerForm form;
  ReasoningOptions reasoning;
  std::optional<bool> reasoning_in_content;  // nullopt: the server's default
  Json template_variables = Json::object();  // additional variables from the client
  bool continues_last = false;               // the last message is an answer for the model to continue
  std::optional<bool> begins_answer;         // nullopt: yes, unless the last message is continued

  // The client's names of fields that may be found invalid only when the prompt is made.
  std::string messages_field = "messages", continues_field = "continue_final_message",
              effort_field = "reasoning_effort";
};

// The state while a chat's body is read.
struct ChatReading : GenerationReading {
  using GenerationReading::GenerationReading;

  ChatRequest chat;
  ToolChoice tool_choice;
  std::optional<AnswerForm> form;  // from a field of the dialect's own, which overrides response_format

  // Call it after all fields are read: sets the chat's generation fields. Errors: as finish_generation().
  Status finish();
};

// Fields that control a chat's reasoning, in the spellings of OpenAI, llama.cpp, vLLM, Qwen and Anthropic. An effort
// that `into` already has is kept. Errors: InvalidArgument naming the field.
Status read_reasoning(Fields& body, ReasoningOptions& into);

// Adds the server's defaults for fields that the request does not set.
ReasoningOptions with_defaults(ReasoningOptions asked, const RequestDefaults& defaults);

// Fields spelled alike in all dialects: for the template, reasoning and the answer's form. Call it after the dialect's
// own fields are read. Errors: InvalidArgument naming the field.
Status read_chat_fields(Fields& body, ChatReading& into);
KnownFields chat_fields();

}  // namespace realizar::server
