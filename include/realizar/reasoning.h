// How long a model thinks before it answers, where its chat template marks what it thinks.
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

// What is absent is as the model does it by itself.
struct ReasoningOptions {
  std::optional<bool> enabled = {};        // false: it answers at once
  std::optional<std::string> effort = {};  // none, minimal, low, medium, high, xhigh or max; others where a template
                                           // reads them
  std::optional<int64_t> budget = {};      // tokens, after which the mark that ends reasoning is forced; -1: no bound

  bool asks_nothing() const { return !enabled && !effort && !budget; }
};

struct ReasoningPlan {
  std::string variables_json = "{}";    // an object that the chat template's variables get
  std::optional<uint32_t> budget = {};  // for reasoning_constraint; absent: none is wanted
};

// What the options mean for this model's chat template. Errors: InvalidArgument, subject "reasoning_effort" or
// "reasoning_budget".
Result<ReasoningPlan> plan_reasoning(const LanguageModel& model, const ReasoningOptions& options);

// What Request::constraint takes: after `budget` tokens of reasoning the mark that ends it is forced, and the answer
// goes on. `prompt`: the request's. `inner`: to what the answer is held besides; null: nothing. Gives `inner` where the
// template marks no reasoning. `model` must outlive what it gives. Errors: Unsupported where the model file has no
// tokenizer.
Result<std::shared_ptr<TokenConstraint>> reasoning_constraint(const LanguageModel& model, uint32_t budget,
                                                              std::span<const TokenId> prompt,
                                                              std::shared_ptr<TokenConstraint> inner = nullptr);

}  // namespace realizar
