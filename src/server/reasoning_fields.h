// How long a chat may make its model think, in the spellings of OpenAI, llama.cpp, vLLM, Qwen and Anthropic.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "server/json.h"

namespace realizar::server {

struct ReasoningWish {
  Json variables = Json::object();  // of the chat template
  std::optional<uint32_t> budget;   // tokens of reasoning; absent: no bound
};

// Reads reasoning_effort, enable_thinking, thinking {type, budget_tokens}, and a budget under the names
// thinking_budget_tokens, reasoning_budget, reasoning_budget_tokens, thinking_token_budget and thinking_budget (-1: no
// bound), and enable_thinking in `kwargs`, which are the template's variables that the request names itself (null:
// none). A template that has no variable for what is asked has it done by a budget: docs/api.md has the table.
// Errors: InvalidArgument naming the field.
Result<ReasoningWish> read_reasoning(Fields& body, const Json* kwargs, std::string_view template_source);

}  // namespace realizar::server
