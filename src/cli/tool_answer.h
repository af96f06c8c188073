// The answer to a conversation's last question, including the model's tool calls on the way.
#pragma once

#include <functional>

#include "cli/conversation.h"
#include "cli/generation.h"
#include "cli/tool_box.h"
#include "cli/writer.h"

namespace realizar::cli {

// Returns the prompt for the current conversation.
using MakePrompt = std::function<Result<Prompt>()>;

// Adds every turn to the conversation. `tools`: null if there are none. A model that keeps calling tools gets 16
// rounds. Ctrl-C ends the answer, or the current call. Errors: those of the prompt and of the model; the conversation
// may then end with a part of the answer's turns.
Result<Answer> answer_question(Writer& writer, Conversation& conversation, const MakePrompt& make_prompt,
                               const AnswerOptions& options, ToolBox* tools, const Person& person);

}  // namespace realizar::cli
