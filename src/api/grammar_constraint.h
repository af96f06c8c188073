// Holds a sequence to a grammar, once the answer itself begins. If the model would end its turn before that, for
// example in its reasoning, it is made to begin the answer instead.
#pragma once

#include <memory>
#include <span>

#include "grammar/matcher.h"
#include "realizar/request.h"
#include "text/output/output_format.h"

namespace realizar {

namespace text {
class Tokenizer;
}

// `end_tokens` are allowed where a sentence is complete. `tokenizer` must outlive the result.
std::shared_ptr<TokenConstraint> make_constraint(std::shared_ptr<grammar::MaskCache> grammar,
                                                 const text::Tokenizer& tokenizer, std::span<const TokenId> end_tokens,
                                                 const text::GrammarStart& start);

}  // namespace realizar
