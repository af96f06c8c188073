// Translates a requested amount of reasoning for a chat template: into variables, or into a budget if it has none.
// A budget is enforced by the marks of that template, and the answer continues after them.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "realizar/reasoning.h"
#include "realizar/request.h"
#include "text/output/output_format.h"

namespace realizar {

namespace text {
class Tokenizer;
}

struct ReasoningWish {
  nlohmann::ordered_json variables = nlohmann::ordered_json::object();  // for the chat template
  std::optional<uint32_t> budget;                                       // tokens of reasoning; absent: unlimited
};

// If the template has no variable for a request, a budget enforces it; docs/api.md has the table. Errors:
// InvalidArgument, subject "reasoning_effort" or "reasoning_budget".
Result<ReasoningWish> reasoning_wish(const ReasoningOptions& options, std::string_view template_source);

struct ReasoningBudget {
  uint32_t n_tokens = 0;             // after this many, the mark that ends reasoning is forced; 0: no reasoning
  bool starts_in_reasoning = false;  // the prompt has already opened it
};

// Holds a sequence to the budget and to `inner`, which may be null, and which sees forced tokens but does not choose
// them. Returns `inner` if the format has no marks for reasoning. `tokenizer` must outlive the result.
std::shared_ptr<TokenConstraint> with_reasoning_budget(std::shared_ptr<TokenConstraint> inner,
                                                       const text::OutputFormat& format,
                                                       const text::Tokenizer& tokenizer, ReasoningBudget budget);

}  // namespace realizar
