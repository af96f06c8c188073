// A text that is forced token by token, such as the mark that ends reasoning.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "realizar/types.h"

namespace realizar {

namespace text {
class Tokenizer;
}

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

}  // namespace realizar
