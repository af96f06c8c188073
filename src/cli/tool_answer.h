// The answer to a conversation's last question, with the calls of tools that the model makes on its way there.
#pragma once

#include <functional>

#include "cli/conversation.h"
#include "cli/generation.h"
#include "cli/tool_box.h"

namespace realizar::cli {

// Gives the prompt for the conversation as it is.
using MakePrompt = std::function<Result<std::vector<TokenId>>()>;

// Puts every turn into the conversation. `tools`: null where there are none. A model that goes on calling gets 16
// rounds. Ctrl-C ends the answer, or the call that is made. Errors: those of the prompt and of the model; the
// conversation may then end with a part of the answer's turns.
Result<Answer> answer_question(LanguageModel& model, Conversation& conversation, const MakePrompt& make_prompt,
                               const AnswerOptions& options, ToolBox* tools, const Person& person);

// Errors: Unsupported where there are tools, and the model's chat template says nothing of them to it.
Status check_knows_tools(const LanguageModel& model, const mcp::Json& tools);

}  // namespace realizar::cli
