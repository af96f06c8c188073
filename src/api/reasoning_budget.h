// Ends reasoning that has used up its budget of tokens, by the marks of the model's own chat template: the answer
// continues after them.
#pragma once

#include <cstdint>
#include <memory>

#include "realizar/request.h"
#include "text/output/output_format.h"

namespace realizar {

namespace text {
class Tokenizer;
}

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
