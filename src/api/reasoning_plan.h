// Translates a requested amount of reasoning for a chat template: into variables, or into a budget if it has none.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "realizar/reasoning.h"

namespace realizar {

struct ReasoningWish {
  nlohmann::ordered_json variables = nlohmann::ordered_json::object();  // for the chat template
  std::optional<uint32_t> budget;                                       // tokens of reasoning; absent: unlimited
};

// If the template has no variable for a request, a budget enforces it; docs/api.md has the table. Errors:
// InvalidArgument, subject "reasoning_effort" or "reasoning_budget".
Result<ReasoningWish> reasoning_wish(const ReasoningOptions& options, std::string_view template_source);

}  // namespace realizar
