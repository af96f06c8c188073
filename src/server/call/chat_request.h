// The request of a chat as any dialect may make it, with its client's own names for the fields that errors name.
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
  std::optional<bool> reasoning_in_content;  // nullopt: as the server has it
  Json template_variables = Json::object();  // of the chat template, named by the client
  bool continues_last = false;               // the last message is an answer that the model writes on
  std::optional<bool> begins_answer;         // nullopt: unless the last message is continued

  // The client's names of fields that may turn out wrong only when the prompt is made.
  std::string messages_field = "messages", continues_field = "continue_final_message",
              effort_field = "reasoning_effort";
};

// A chat's body while its fields are read.
struct ChatReading : GenerationReading {
  using GenerationReading::GenerationReading;

  ChatRequest chat;
  ToolChoice tool_choice;
  std::optional<AnswerForm> form;  // from a field of the dialect's own, which replaces response_format

  // To be called once all fields are read: the chat has its generation fields then. Errors: as finish_generation().
  Status finish();
};

// Fields that all dialects spell alike: of the template, of reasoning and of the answer's form. To be called once the
// dialect's own are read. Errors: InvalidArgument naming the field.
Status read_chat_fields(Fields& body, ChatReading& into);
KnownFields chat_fields();

}  // namespace realizar::server
