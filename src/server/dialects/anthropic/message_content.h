// The messages of Anthropic's Messages API.
#pragma once

#include "server/call/chat_request.h"

namespace realizar::server {

// Errors of both: InvalidArgument naming the block.
// Reads a string or blocks of text, which become the first message.
Status read_system_blocks(Fields& body, const char* name, ChatReading& into);
// Tool results become separate messages, before the other content of their message. An assistant's last message is to
// be continued.
Status read_message_list(Fields& body, const char* name, ChatReading& into);

}  // namespace realizar::server
