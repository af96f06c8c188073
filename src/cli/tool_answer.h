// The answer to a conversation's last question, with the calls of tools that the model makes on its way there.
#pragma once

#include <functional>

#include "cli/conversation.h"
#include "cli/generation.h"
#include "cli/tool_box.h"
#include "cli/writer.h"

namespace realizar::cli {

// Gives the prompt for the conversation as it is.
using MakePrompt = std::function<Result<Prompt>()>;

// Puts every turn into the conversation. `tools`: null where there are none. A model that goes on calling gets 16
// rounds. Ctrl-C ends the answer, or the call that is made. Errors: those of the prompt and of the model; the
// conversation may then end with a part of the answer's turns.
Result<Answer> answer_question(Writer& writer, Conversation& conversation, const MakePrompt& make_prompt,
                               const AnswerOptions& options, ToolBox* tools, const Person& person);

}  // namespace realizar::cli
