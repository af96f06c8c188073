// How long a chat may make its model think, in the spellings of OpenAI, llama.cpp, vLLM, Qwen and Anthropic.
#pragma once

#include <string_view>

#include "api/reasoning_plan.h"
#include "server/http/json.h"
#include "server/models/request_defaults.h"

namespace realizar::server {

// Reads reasoning_effort, enable_thinking, thinking {type, budget_tokens}, and a budget under the names
// thinking_budget_tokens, reasoning_budget, reasoning_budget_tokens, thinking_token_budget and thinking_budget (-1: no
// bound), and enable_thinking in `kwargs`, which are the template's variables that the request names itself (null:
// none). What the request says nothing of is as `defaults` say. Errors: InvalidArgument naming the field.
Result<ReasoningWish> read_reasoning(Fields& body, const Json* kwargs, std::string_view template_source,
                                     const RequestDefaults& defaults = {});

}  // namespace realizar::server
