// Holds a sequence to a grammar, once the answer itself begins. If the model would end its turn before that, for
// example in its reasoning, it is made to begin the answer instead.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "grammar/matcher.h"
#include "realizar/request.h"
#include "text/output/output_format.h"

namespace realizar {

namespace text {
class Tokenizer;
}

// A text that is forced token by token, such as the mark that ends reasoning.
class ForcedText {
 public:
  // `written`: the text before it. If no single token is `text`, the model may have begun to write it: then only the
  // rest is forced.
  void begin(const text::Tokenizer& tokenizer, std::string_view written, std::string_view text);

  bool is_open() const { return n_accepted_ < tokens_.size(); }
  // Allows only the next token.
  void allow(std::span<uint64_t> allowed) const;
  // Records that the next token was generated.
  void accept() { ++n_accepted_; }

 private:
  std::vector<TokenId> tokens_;
  size_t n_accepted_ = 0;
};

// `end_tokens` are allowed where a sentence is complete. `tokenizer` must outlive the result.
std::shared_ptr<TokenConstraint> make_constraint(std::shared_ptr<grammar::MaskCache> grammar,
                                                 const text::Tokenizer& tokenizer, std::span<const TokenId> end_tokens,
                                                 const text::GrammarStart& start);

}  // namespace realizar
