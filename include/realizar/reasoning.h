// How long a model thinks before it answers, if its chat template marks reasoning.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "realizar/request.h"
#include "realizar/result.h"
#include "realizar/types.h"

namespace realizar {

class LanguageModel;

// For absent values the model's own default applies.
struct ReasoningOptions {
  std::optional<bool> enabled = {};        // false: answer immediately
  std::optional<std::string> effort = {};  // none, minimal, low, medium, high, xhigh or max; other values if the
                                           // template supports them
  std::optional<int64_t> budget = {};      // tokens, after which the mark that ends reasoning is forced; -1: unlimited

  bool asks_nothing() const { return !enabled && !effort && !budget; }
};

struct ReasoningPlan {
  std::string variables_json = "{}";    // an object of additional variables for the chat template
  std::optional<uint32_t> budget = {};  // for reasoning_constraint; absent: not needed
};

// Translates the options for this model's chat template. Errors: InvalidArgument, subject "reasoning_effort" or
// "reasoning_budget".
Result<ReasoningPlan> plan_reasoning(const LanguageModel& model, const ReasoningOptions& options);

// A value for Request::constraint: after `budget` tokens of reasoning the mark that ends it is forced, and the answer
// continues. `prompt`: the request's. `inner`: a further constraint on the answer; null: none. Returns `inner` if the
// template does not mark reasoning. `model` must outlive the result. Errors: Unsupported if the model file has no
// tokenizer.
Result<std::shared_ptr<TokenConstraint>> reasoning_constraint(const LanguageModel& model, uint32_t budget,
                                                              std::span<const TokenId> prompt,
                                                              std::shared_ptr<TokenConstraint> inner = nullptr);

}  // namespace realizar
