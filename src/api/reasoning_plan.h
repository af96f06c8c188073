// What a wish for more or less reasoning means for a chat template: variables, and a budget where it has none for it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "realizar/reasoning.h"

namespace realizar {

struct ReasoningWish {
  nlohmann::ordered_json variables = nlohmann::ordered_json::object();  // of the chat template
  std::optional<uint32_t> budget;                                       // tokens of reasoning; absent: no bound
};

// A template that has no variable for what is asked has it done by a budget: docs/api.md has the table. Errors:
// InvalidArgument, subject "reasoning_effort" or "reasoning_budget".
Result<ReasoningWish> reasoning_wish(const ReasoningOptions& options, std::string_view template_source);

}  // namespace realizar
