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
  // `written`: what stands before it. A model that has no token for `text` may have begun to write it: then its rest is
  // forced.
  void begin(const text::Tokenizer& tokenizer, std::string_view written, std::string_view text);

  bool is_open() const { return n_accepted_ < tokens_.size(); }
  // Leaves the next token only.
  void allow(std::span<uint64_t> allowed) const;
  // The next token is there.
  void accept() { ++n_accepted_; }

 private:
  std::vector<TokenId> tokens_;
  size_t n_accepted_ = 0;
};

}  // namespace realizar
