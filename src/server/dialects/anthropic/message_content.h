// The messages of Anthropic's Messages API as those of a chat completion.
#pragma once

#include "server/dialects/anthropic/message_input.h"

namespace realizar::server {

// Reads system, a string or blocks of text, and messages into chat.body["messages"]. Results of tools become messages
// of their own, before the other content of their message. An assistant's last message is one to be continued. Errors:
// InvalidArgument naming the block.
Status read_message_content(const Json& body, MessageChat& chat);

}  // namespace realizar::server
