// The fields of a chat completion (https://platform.openai.com/docs/api-reference/chat), except those that control how
// the answer is generated and reported.
#pragma once

#include "server/call/chat_request.h"

namespace realizar::server {

struct OpenAiChat : ChatReading {
  using ChatReading::ChatReading;

  bool has_functions = false;  // the client expects the call as message.function_call
};

// Errors of all these: InvalidArgument naming the field.
// `functions` and `function_call`, the oldest format of tools, which older clients still send. Must be called first.
Status read_function_fields(Fields& body, OpenAiChat& into);
KnownFields function_fields();
Status read_openai_chat(Fields& body, OpenAiChat& into);
KnownFields openai_chat_fields();
// Reads functions and custom tools. Tools of other types (web_search ...) are left out, since no model here can call
// them.
Status read_openai_tools(const Json& tools, const char* name, ChatReading& into);

}  // namespace realizar::server
